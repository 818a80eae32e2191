// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The callback forms of fetches, as in Alicerce.
extension NetworkStack {
  /// Fetches a resource, and calls `completion` with the result; see ``fetch(_:)``.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - completion: a closure that is called exactly once, on a thread of the concurrent pool, which it must not
  ///     block; never before this function returns.
  /// - Returns: a handle that cancels the fetch. Releasing the handle does not cancel it.
  @discardableResult
  public func fetch(
    _ resource: Resource, completion: @escaping @Sendable (Result<Fetched<Remote, Response>, FetchError>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        completion(await Result { () async throws(FetchError) in try await fetch(resource) })
      })
  }

  /// Fetches and decodes a resource, and calls `completion` with the result; see ``fetchAndDecode(_:decoding:)``.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - decoding: the decoding, which is passed the payload and the response.
  ///   - completion: a closure that is called exactly once, on a thread of the concurrent pool, which it must not
  ///     block; never before this function returns.
  /// - Returns: a handle that cancels the fetch. Releasing the handle does not cancel it.
  @discardableResult
  public func fetchAndDecode<T>(
    _ resource: Resource, decoding: ModelDecoding<T, Remote, Response>,
    completion: @escaping @Sendable (Result<Fetched<T, Response>, FetchAndDecodeError<FetchError>>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        completion(
          await Result { () async throws(FetchAndDecodeError<FetchError>) in
            try await fetchAndDecode(resource, decoding: decoding)
          })
      })
  }
}

extension HTTPNetworkStack {
  /// Fetches a typed resource, and calls `completion` with the result.
  ///
  /// - Parameters:
  ///   - resource: the resource to fetch.
  ///   - completion: a closure that is called exactly once, on a thread of the concurrent pool, which it must not
  ///     block; never before this function returns.
  /// - Returns: a handle that cancels the fetch. Releasing the handle does not cancel it.
  @discardableResult
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>,
    completion: @escaping @Sendable (Result<Fetched<Model, ResourceResponse>, HTTPFetchError<APIError>>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        completion(await Result { () async throws(HTTPFetchError<APIError>) in try await fetch(resource) })
      })
  }
}
