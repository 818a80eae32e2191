// SPDX-License-Identifier: Apache-2.0

/// Fetches resources. A type that implements ``fetch(_:)`` gets decoding and the callback forms by extension, which run
/// on the concurrent pool, or on the executor that the caller's task prefers.
public protocol NetworkStack: Sendable {
  /// What is fetched: the unit of work.
  associatedtype Resource: Sendable
  /// The payload as it comes, typically bytes.
  associatedtype Remote: Sendable
  /// The request of the underlying client.
  associatedtype Request: Sendable = Resource
  /// The response of the underlying client, without the payload.
  associatedtype Response: Sendable
  /// Why a fetch fails.
  associatedtype FetchError: Error

  /// Fetches a resource. Cancelling the task gives it up promptly.
  ///
  /// - Throws: why there is no value; once the task is cancelled, the stack's cancelled error.
  func fetch(_ resource: Resource) async throws(FetchError) -> Network.Value<Remote, Response>
}

extension NetworkStack {
  /// Fetches a resource and decodes its payload.
  ///
  /// - Parameters:
  ///   - resource: what to fetch.
  ///   - decoding: gets payload and response.
  /// - Throws: ``FetchAndDecodeError``, which tells a failed fetch from a failed decoding, and from a cancellation
  ///   while decoding.
  @concurrent
  public func fetchAndDecode<T>(
    _ resource: Resource, decoding: ModelDecoding<T, Remote, Response>
  ) async throws(FetchAndDecodeError<FetchError>) -> Network.Value<T, Response> {
    let fetched: Network.Value<Remote, Response>
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
    case .success(let model): return Network.Value(value: model, response: fetched.response)
    case .failure(let error):
      // As a fetch says of a model that has no place for nothing.
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
