// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension HTTPFetchError {
  /// A model of a stream that has come with an answer.
  static func decoding<Model>(
    _ payload: Data, by decoding: HTTPModelDecoding<Model>, of response: ResourceResponse?
  ) throws(Self) -> Model {
    // Without an answer nothing came that could be decoded.
    guard let response else { throw Self(.cancelled) }
    do {
      return try decoding.decode(payload, response)
    } catch {
      throw Self(
        .decode(DecodeFailure(error, payload: payload, metadata: response)), request: response.ledger.request,
        response: response, body: payload, attempts: response.attempts)
    }
  }
}
