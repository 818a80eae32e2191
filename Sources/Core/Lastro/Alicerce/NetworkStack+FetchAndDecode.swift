// SPDX-License-Identifier: Apache-2.0

/// Fetching and decoding in two steps, as in Alicerce. ``HTTPNetworkStack/fetch(_:)`` of a typed resource does both.
extension NetworkStack {
  /// Fetches a resource and decodes its payload.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - decoding: the decoding, which is passed the payload and the response.
  /// - Throws: ``FetchAndDecodeError``, which distinguishes a failed fetch, a failed decoding, and a cancellation while
  ///   decoding.
  @concurrent
  public func fetchAndDecode<T>(
    _ resource: Resource, decoding: ModelDecoding<T, Remote, Response>
  ) async throws(FetchAndDecodeError<FetchError>) -> Fetched<T, Response> {
    let fetched: Fetched<Remote, Response>
    do throws(FetchError) {
      fetched = try await fetch(resource)
    } catch {
      throw .fetch(error)
    }
    let configuration = (self as? any ConfiguredStack)?.configuration
    let coders = JSONCoders(encoder: configuration?.jsonEncoder, decoder: configuration?.jsonDecoder)
    let decoded = JSONCoders.$current.withValue(coders) {
      Result { try decoding.decode(fetched.value, fetched.response) }
    }
    if Task.isCancelled { throw .cancelled }
    switch decoded {
    case .success(let model): return Fetched(value: model, response: fetched.response)
    case .failure(let error):
      // Throw the error that a fetch throws for a 304 whose model cannot be empty.
      if let response = fetched.response as? ResourceResponse, response.status == .notModified,
        let error = HTTPFetchError<any Error>(
          .http(.notModified, nil), request: response.ledger.request, response: response, attempts: response.attempts)
          as? FetchError
      {
        throw .fetch(error)
      }
      throw .decode(DecodeFailure(error, payload: fetched.value, metadata: fetched.response))
    }
  }
}
