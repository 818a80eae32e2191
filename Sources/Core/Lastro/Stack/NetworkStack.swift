// SPDX-License-Identifier: Apache-2.0

/// A stack that fetches resources. A type that implements ``fetch(_:)`` gets decoding and the callback forms from
/// extensions. They run on the concurrent pool, or on the executor that the caller's task prefers.
public protocol NetworkStack: Sendable {
  /// The resource to fetch: the unit of work.
  associatedtype Resource: Sendable
  /// The payload before decoding, typically bytes.
  associatedtype Remote: Sendable
  /// The request of the underlying client.
  associatedtype Request: Sendable = Resource
  /// The response of the underlying client, without the payload.
  associatedtype Response: Sendable
  /// The error of a failed fetch.
  associatedtype FetchError: Error

  /// Fetches a resource. Cancelling the task ends the fetch promptly.
  ///
  /// - Throws: the stack's error if the fetch fails; if the task is cancelled, the stack's cancelled error.
  func fetch(_ resource: Resource) async throws(FetchError) -> Network.Value<Remote, Response>
}

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

extension NetworkStack {
  /// Fetches a resource, and calls `completion` with the result; see ``fetch(_:)``.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - queue: the queue on which `completion` is called. Default: the concurrent pool.
  ///   - completion: a closure that is called exactly once, never before this function returns.
  /// - Returns: a handle that cancels the fetch. Releasing the handle does not cancel it.
  @discardableResult
  public func fetch(
    _ resource: Resource, callbackOn queue: CallbackQueue = .concurrent,
    completion: @escaping @Sendable (Result<Network.Value<Remote, Response>, FetchError>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        let result: Result<Network.Value<Remote, Response>, FetchError>
        do throws(FetchError) {
          result = .success(try await fetch(resource))
        } catch {
          result = .failure(error)
        }
        queue.run { completion(result) }
      })
  }

  /// Fetches and decodes a resource, and calls `completion` with the result; see ``fetchAndDecode(_:decoding:)``.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - decoding: the decoding, which is passed the payload and the response.
  ///   - queue: the queue on which `completion` is called. Default: the concurrent pool.
  ///   - completion: a closure that is called exactly once, never before this function returns.
  /// - Returns: a handle that cancels the fetch. Releasing the handle does not cancel it.
  @discardableResult
  public func fetchAndDecode<T>(
    _ resource: Resource, decoding: ModelDecoding<T, Remote, Response>, callbackOn queue: CallbackQueue = .concurrent,
    completion: @escaping @Sendable (Result<Network.Value<T, Response>, FetchAndDecodeError<FetchError>>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        let result: Result<Network.Value<T, Response>, FetchAndDecodeError<FetchError>>
        do throws(FetchAndDecodeError<FetchError>) {
          result = .success(try await fetchAndDecode(resource, decoding: decoding))
        } catch {
          result = .failure(error)
        }
        queue.run { completion(result) }
      })
  }
}
