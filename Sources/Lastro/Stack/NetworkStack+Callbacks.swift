// SPDX-License-Identifier: Apache-2.0

extension NetworkStack {
  /// Fetches a resource; the callback form of ``fetch(_:)``.
  ///
  /// - Parameters:
  ///   - resource: what to fetch.
  ///   - queue: where `completion` runs. Default: the concurrent pool.
  ///   - completion: called exactly once, never inside this call.
  /// - Returns: cancels the fetch. Dropping it does not.
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

  /// Fetches and decodes a resource; the callback form of ``fetchAndDecode(_:decoding:)``.
  ///
  /// - Parameters:
  ///   - resource: what to fetch.
  ///   - decoding: gets payload and response.
  ///   - queue: where `completion` runs. Default: the concurrent pool.
  ///   - completion: called exactly once, never inside this call.
  /// - Returns: cancels the fetch. Dropping it does not.
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
