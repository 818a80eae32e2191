// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A stack for HTTP: fetches raw and typed resources, and streams.
///
/// Features take `any HTTPNetworkStack`, so that tests can give them another one.
public protocol HTTPNetworkStack: NetworkStack
where
  Resource == RawHTTPResource, Remote == Data, Request == ResourceRequest, Response == ResourceResponse,
  FetchError == HTTPFetchError<any Error>
{
  /// Fetches a resource and decodes its model.
  ///
  /// - Throws: ``HTTPFetchError`` with the API's own error, where it sent one. When the task is cancelled, at any
  ///   stage, always the cancelled error.
  func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Model, ResourceResponse>

  /// Opens a resource as a stream: returns when the head of a 2xx answer is there, its body still to be read.
  ///
  /// Its model decoding is not used: a resource that is only ever streamed has ``ResponseBody`` for a model. Other
  /// answers are collected (up to a limit), decoded as API errors and retried as those of ``fetch(_:)`` are; once the
  /// stream is open nothing is retried. The default timeouts are those for streams, and there is no limit on the body
  /// unless the options set one.
  ///
  /// - Throws: as ``fetch(_:)``. Failures of the body itself are thrown by ``ResponseBody``.
  func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse>
}

extension HTTPNetworkStack {
  /// There for the compiler's message alone: an endpoint says nothing of a model.
  ///
  /// - Throws: nothing, for it cannot be called.
  @available(*, unavailable, message: "fetch a resource: HTTPResource<Model, APIError>(endpoint), or .raw(endpoint)")
  public func fetch(_ endpoint: some HTTPResourceEndpoint) async throws -> Network.Value<Data, ResourceResponse> {
    try await fetch(.raw(endpoint))
  }

  /// Opens a request as a stream; see ``stream(_:)``.
  ///
  /// ```swift
  /// let archive = try await stack.stream(ResourceRequest(url: "https://example.com/large")).value
  /// ```
  ///
  /// - Parameters:
  ///   - request: sent by every attempt.
  ///   - errorDecoding: decodes answers outside 200–299. Default: as text.
  /// - Throws: as ``stream(_:)``.
  public func stream<APIError>(
    _ request: ResourceRequest,
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse> = ErrorDecoding<TextAPIError, Data, ResourceResponse>
      .text
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<ResponseBody, ResourceResponse> {
    try await stream(
      HTTPResource(baseRequestMaking: .request(request), decoding: .streamed, errorDecoding: errorDecoding))
  }

  /// Fetches a typed resource; the callback form.
  ///
  /// - Parameters:
  ///   - resource: what to fetch.
  ///   - queue: where `completion` runs. Default: the concurrent pool.
  ///   - completion: called exactly once, never inside this call.
  /// - Returns: cancels the fetch. Dropping it does not.
  @discardableResult
  public func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>, callbackOn queue: CallbackQueue = .concurrent,
    completion: @escaping @Sendable (Result<Network.Value<Model, ResourceResponse>, HTTPFetchError<APIError>>) -> Void
  ) -> any Cancelable {
    TaskCancelable(
      Task {
        let result: Result<Network.Value<Model, ResourceResponse>, HTTPFetchError<APIError>>
        do throws(HTTPFetchError<APIError>) {
          result = .success(try await fetch(resource))
        } catch {
          result = .failure(error)
        }
        queue.run { completion(result) }
      })
  }
}
