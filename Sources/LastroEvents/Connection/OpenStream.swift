// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An answer whose body is read as a stream, and what its failures are made of.
struct OpenStream<APIError: Error>: Sendable {
  let response: ResourceResponse
  var body: BodyReader
  /// The most bytes of a payload that errors show.
  let snippetBytes: Int

  /// Ends the stream with a failure, and returns the error to throw: with the ledger of the call up to now.
  func failure(_ error: TransportError) -> HTTPFetchError<APIError> {
    failure(error.stage == .cancelled ? .cancelled : .transport(error))
  }

  /// Ends the stream with a failure, and returns the error to throw: with the ledger of the call up to now.
  ///
  /// - Parameters:
  ///   - payload: the part of the body that the failure is about.
  ///   - cause: the failure as observers see it, where `reason` has none.
  func failure(
    _ reason: HTTPFetchError<APIError>.Reason, about payload: Data? = nil, cause: TransportError? = nil
  ) -> HTTPFetchError<APIError> {
    let error = HTTPFetchError<APIError>(
      reason, of: response, body: payload, snippetBytes: snippetBytes, cause: cause, openFor: body.age,
      facts: body.finalFacts)
    body.finish(failing: error.transportError ?? cause)
    return error
  }

  /// Decodes a model that has come.
  func decode<Model>(_ payload: Data, by decoding: HTTPModelDecoding<Model>) throws(HTTPFetchError<APIError>) -> Model {
    do {
      return try decoding.decode(payload, response)
    } catch {
      let failure = DecodeFailure(error, payload: payload, metadata: response, snippetBytes: snippetBytes)
      throw self.failure(.decode(failure), about: payload)
    }
  }
}
