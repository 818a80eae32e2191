// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A stack for HTTP, which fetches raw and typed resources, and streams.
///
/// Declare parameters as `any HTTPNetworkStack`, so that tests can pass another implementation.
public protocol HTTPNetworkStack: NetworkStack
where
  Resource == RawHTTPResource, Remote == Data, Request == ResourceRequest, Response == ResourceResponse,
  FetchError == HTTPFetchError<any Error>
{
  /// Fetches a resource and decodes its model.
  ///
  /// - Throws: ``HTTPFetchError`` with the API's own error, if the API sent one. If the task is cancelled, at any
  ///   stage, the error is always the cancelled error.
  func fetch<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<Model, ResourceResponse>

  /// Opens a resource as a stream. Returns when the head of a 2xx response has arrived, before its body is read.
  ///
  /// The resource's model decoding is not used; a resource that is only streamed has ``ResponseBody`` as its model.
  /// Other responses are collected (up to a limit), decoded as API errors and retried like those of ``fetch(_:)``. Once
  /// the stream is open, nothing is retried. The default timeouts are those for streams. The body has no size limit
  /// unless the options set one.
  ///
  /// - Throws: the errors of ``fetch(_:)``. Failures of the body itself are thrown by ``ResponseBody``.
  func stream<Model, APIError>(
    _ resource: HTTPResource<Model, APIError>
  ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse>
}

extension HTTPNetworkStack {
  /// Opens a request as a stream; see ``stream(_:)``.
  ///
  /// ```swift
  /// let archive = try await stack.stream(ResourceRequest(url: "https://example.com/large")).value
  /// ```
  ///
  /// - Parameters:
  ///   - request: the request that every attempt sends.
  ///   - errorDecoding: the decoding of responses outside 200–299. Default: as text.
  /// - Throws: the errors of ``stream(_:)``.
  public func stream<APIError>(
    _ request: ResourceRequest,
    errorDecoding: ErrorDecoding<APIError, Data, ResourceResponse> = ErrorDecoding<TextAPIError, Data, ResourceResponse>
      .text
  ) async throws(HTTPFetchError<APIError>) -> Fetched<ResponseBody, ResourceResponse> {
    try await stream(
      HTTPResource(baseRequestMaking: .request(request), decoding: .streamed, errorDecoding: errorDecoding))
  }
}
