// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension HTTPFetchError {
  /// Makes an error: for other implementations of ``HTTPNetworkStack``, and for tests of interceptors and features.
  ///
  /// - Parameters:
  ///   - reason: the failure by kind.
  ///   - request: method and URL, without secrets. Default `nil`.
  ///   - response: the answer, where there was one. Default `nil`.
  ///   - apiError: the API's own error. Default: that of `reason`, where it has one.
  ///   - body: the answer's body; ``bodySnippet`` is made of it. Default `nil`.
  ///   - attempts: every attempt, the last one last. Default none.
  ///   - notRetried: why a wanted retry was not made. Default `nil`.
  public init(
    _ reason: Reason, request: String? = nil, response: ResourceResponse? = nil, apiError: APIError? = nil,
    body: Data? = nil, attempts: [Attempt] = [], notRetried: String? = nil
  ) {
    var ownError: APIError?
    let kind: FailureRecord.Kind
    switch reason {
    case .noRequest(let error): kind = .noRequest(error)
    case .http(let status, let error):
      kind = .http(status)
      ownError = error
    case .noData(let status): kind = .noData(status)
    case .transport(let error): kind = .transport(error)
    case .badResponse(let error): kind = .badResponse(error)
    case .redirect(let error): kind = .redirect(error)
    case .retry(let error, let state): kind = .retry(error, state)
    case .cancelled: kind = .cancelled(.cancelled(requestSent: attempts.contains(where: \.requestSent)))
    case .decode(let failure): kind = .decode(failure)
    }
    let redaction = response?.redaction ?? .standard
    let limit = StackConfiguration().bodySnippetBytes
    let snippet = body.flatMap { $0.isEmpty ? nil : BodySnippet($0, limit: limit, redaction: redaction) }
    self.init(
      FailureRecord(
        kind, request: request, response: response, apiError: apiError ?? ownError, bodySnippet: snippet, body: body,
        ledger: AttemptLedger(redaction: redaction, attempts: attempts, notRetried: notRetried), redaction: redaction))
  }

  /// The same failure with another API error; also of the failures in the state of ``Reason/retry(_:_:)``.
  ///
  /// - Parameter transform: makes the other error; `nil` drops it. Not called where there is none.
  public func mapAPIError<E: Error>(_ transform: (APIError) -> E?) -> HTTPFetchError<E> {
    var kind = record.kind
    if case .retry(let error, var state) = kind {
      state.errors = state.errors.map { failure in
        switch failure {
        case let failure as HTTPFetchError<any Error>: Self(failure.record).mapAPIError(transform).erased
        case let failure as Self: failure.mapAPIError(transform)
        default: failure
        }
      }
      kind = .retry(error, state)
    }
    return HTTPFetchError<E>(record.replacing(kind, apiError: apiError.flatMap(transform)))
  }
}
