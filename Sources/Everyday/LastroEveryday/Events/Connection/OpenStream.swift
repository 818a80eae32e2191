// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import Lastro

/// A response whose body is read as a stream, and the details for its errors.
struct OpenStream<APIError: Error>: Sendable {
  let response: ResourceResponse
  var body: BodyReader
  /// The maximum number of payload bytes that errors show.
  let snippetBytes: Int

  /// Ends the stream with a failure, and returns the error to throw, with the ledger of the call so far.
  func failure(_ error: TransportError) -> HTTPFetchError<APIError> {
    failure(error.stage == .cancelled ? .cancelled : .transport(error))
  }

  /// Ends the stream with a failure, and returns the error to throw, with the ledger of the call so far.
  ///
  /// - Parameters:
  ///   - payload: the part of the body that caused the failure.
  ///   - cause: the failure that observers see, if `reason` contains none.
  func failure(
    _ reason: HTTPFetchError<APIError>.Reason, about payload: Data? = nil, cause: TransportError? = nil
  ) -> HTTPFetchError<APIError> {
    let error = HTTPFetchError<APIError>(
      reason, of: response, body: payload, snippetBytes: snippetBytes, cause: cause, openFor: body.age,
      facts: body.finalFacts)
    body.finish(failing: error.transportError ?? cause)
    return error
  }

  /// Decodes a received model.
  func decode<Model>(_ payload: Data, by decoding: HTTPModelDecoding<Model>) throws(HTTPFetchError<APIError>) -> Model {
    do {
      return try decoding.decode(payload, response)
    } catch {
      let failure = DecodeFailure(error, payload: payload, metadata: response, snippetBytes: snippetBytes)
      throw self.failure(.decode(failure), about: payload)
    }
  }
}
