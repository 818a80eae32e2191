// SPDX-License-Identifier: Apache-2.0

/// The callback forms of fetches, as in Alicerce.
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
    completion: @escaping @Sendable (Result<Fetched<Remote, Response>, FetchError>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        let result: Result<Fetched<Remote, Response>, FetchError>
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
    completion: @escaping @Sendable (Result<Fetched<T, Response>, FetchAndDecodeError<FetchError>>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        let result: Result<Fetched<T, Response>, FetchAndDecodeError<FetchError>>
        do throws(FetchAndDecodeError<FetchError>) {
          result = .success(try await fetchAndDecode(resource, decoding: decoding))
        } catch {
          result = .failure(error)
        }
        queue.run { completion(result) }
      })
  }
}

extension HTTPNetworkStack {
  /// Fetches a typed resource, and calls `completion` with the result.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - queue: the queue on which `completion` is called. Default: the concurrent pool.
  ///   - completion: a closure that is called exactly once, never before this function returns.
  /// - Returns: a handle that cancels the fetch. Releasing the handle does not cancel it.
  @discardableResult
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, callbackOn queue: CallbackQueue = .concurrent,
    completion: @escaping @Sendable (Result<Fetched<Model, ResourceResponse>, HTTPFetchError<APIError>>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        let result: Result<Fetched<Model, ResourceResponse>, HTTPFetchError<APIError>>
        do throws(HTTPFetchError<APIError>) {
          result = .success(try await fetch(resource))
        } catch {
          result = .failure(error)
        }
        queue.run { completion(result) }
      })
  }
}
