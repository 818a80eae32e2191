// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The data about a failed attempt that a retry policy for HTTP is passed: the last request, `nil` if none could be
/// made; the collected body of the response, and the response, if there was one.
public typealias HTTPRetryMetadata = (request: ResourceRequest?, body: Data?, response: ResourceResponse?)

/// A retry policy for HTTP. It is also an interceptor: used directly, it decides on every failure that is not vetoed.
/// ``HTTPResourceInterceptor/retry(_:)`` asks it only about failures that a retry may fix.
public typealias HTTPRetryPolicy = Retry.Policy<HTTPRetryMetadata>

extension Retry.Policy: HTTPResourceInterceptor, PromptInterceptor where Metadata == HTTPRetryMetadata {
  /// Returns the policy's decision on the failure.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    shouldRetry(with: error, state: context.retryState, metadata: (request, body, response))
  }
}
