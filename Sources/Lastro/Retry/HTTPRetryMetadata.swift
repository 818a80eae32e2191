// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a retry policy for HTTP knows about a failed attempt.
public struct HTTPRetryMetadata: Sendable {
  /// The last request; `nil` when none could be made.
  public var request: ResourceRequest?
  /// The collected body of the answer, where there was one.
  public var body: Data?
  /// The answer, where there was one.
  public var response: ResourceResponse?

  /// Makes metadata.
  public init(request: ResourceRequest? = nil, body: Data? = nil, response: ResourceResponse? = nil) {
    self.request = request
    self.body = body
    self.response = response
  }
}

/// A retry policy for HTTP. It is an interceptor by itself: it then judges every failure that is not vetoed, of
/// whatever kind; ``RetryInterceptor`` judges only those that a retry may help.
public typealias HTTPRetryPolicy = Retry.Policy<HTTPRetryMetadata>

extension Retry.Policy: HTTPResourceInterceptor where Metadata == HTTPRetryMetadata {
  /// False: a policy decides at once.
  public var hooksWait: Bool { false }

  /// Asks the policy what to do after the failure.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    shouldRetry(
      with: error, state: context.retryState,
      metadata: HTTPRetryMetadata(request: request, body: body, response: response))
  }
}
