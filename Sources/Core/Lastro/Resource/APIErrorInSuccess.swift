// SPDX-License-Identifier: Apache-2.0

/// The error that a ``ModelDecoding`` throws if a 2xx response carries an error of the API instead of a model.
///
/// The fetch then fails as with a status outside 200–299: with the stage `http`, the reason
/// ``HTTPFetchError/Reason/http(_:_:)`` and the error as ``HTTPFetchError/apiError``, unless the fetch's error type is
/// another one. `.retry` does not repeat such a request, because the status promises that the server has acted.
///
/// ```swift
/// ModelDecoding<Message, Data, ResourceResponse> { payload, response in
///   let answer = try JSONDecoder().decode(Answer.self, from: payload)
///   guard let message = answer.message else { throw APIErrorInSuccess(SlackError(answer.error)) }
///   return message
/// }
/// ```
public struct APIErrorInSuccess: Error, CustomStringConvertible {
  /// The API's own error.
  public let error: any Error

  /// Wraps an API's own error.
  public init(_ error: any Error) { self.error = error }

  /// The description of ``error``.
  public var description: String { "\(error)" }
}
