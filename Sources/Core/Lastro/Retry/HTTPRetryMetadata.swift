// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The data about a failed attempt that a retry policy for HTTP is passed.
public struct HTTPRetryMetadata: Sendable {
  /// The last request; `nil` if none could be made.
  public var request: ResourceRequest?
  /// The collected body of the response, if there was one.
  public var body: Data?
  /// The response, if there was one.
  public var response: ResourceResponse?

  /// Makes metadata.
  public init(request: ResourceRequest? = nil, body: Data? = nil, response: ResourceResponse? = nil) {
    self.request = request
    self.body = body
    self.response = response
  }
}

/// A retry policy for HTTP. It is also an interceptor: used directly, it decides on every failure that is not vetoed.
/// ``RetryInterceptor`` asks it only about failures that a retry may fix.
public typealias HTTPRetryPolicy = Retry.Policy<HTTPRetryMetadata>

extension Retry.Policy: HTTPResourceInterceptor, PromptInterceptor where Metadata == HTTPRetryMetadata {
  /// Returns the policy's decision on the failure.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    shouldRetry(
      with: error, state: context.retryState,
      metadata: HTTPRetryMetadata(request: request, body: body, response: response))
  }
}
