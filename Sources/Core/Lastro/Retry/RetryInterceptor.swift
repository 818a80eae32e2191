// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import HTTPTypes

/// The interceptor that `.retry` and `.retry(_:)` make, where it is documented.
package struct RetryInterceptor: HTTPResourceInterceptor, PromptInterceptor {
  /// The set of failures that the policy is asked about.
  package enum Eligibility: Sendable, Hashable {
    /// The failures that a retry may fix.
    case standard
    /// All failures.
    case any
  }

  /// The policy that is asked about eligible failures.
  package let policy: HTTPRetryPolicy
  /// The failures that the policy is asked about. Default ``Eligibility/standard``.
  package let eligibility: Eligibility

  /// Makes an interceptor that asks its policy about some or all failures.
  package init(policy: HTTPRetryPolicy, eligibility: Eligibility = .standard) {
    self.policy = policy
    self.eligibility = eligibility
  }

  /// Returns the policy's decision if the failure is eligible; otherwise returns no opinion.
  ///
  /// The policy counts eligible failures only: the retry after a 401 does not count as one of its retries.
  /// ``Retry/State/totalDelay`` includes all delays of the call.
  package func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    action(after: error, state: context.retryState, metadata: (request, body, response))
  }

  func action(after error: HTTPFetchError<any Error>, state: Retry.State, metadata: HTTPRetryMetadata) -> Retry.Action {
    // The fetch that the request depends on has already been retried by a policy.
    if error.needsRetriedFetch { return .none }
    guard eligibility == .standard else { return policy.shouldRetry(with: error, state: state, metadata: metadata) }
    let earlier = state.errors.compactMap { $0 as? HTTPFetchError<any Error> }
    let isIdempotent = metadata.request?.isIdempotent ?? false
    let hasKey = metadata.request.map { $0.head.headerFields[.idempotencyKey] != nil }
    guard Self.isEligible(error, earlier[...], isIdempotent: isIdempotent, hasKey: hasKey ?? false) else {
      return .none
    }
    var state = state
    // A failure that was retried was eligible as idempotent, even if no request could be made in this attempt to show
    // that.
    state.errors = earlier.indices.lazy.filter {
      Self.isEligible(earlier[$0], earlier[..<$0], isIdempotent: true, hasKey: hasKey ?? true)
    }.map { earlier[$0] }
    return policy.shouldRetry(with: error, state: state, metadata: metadata)
  }

  private static let statuses: Set<Int> = [425, 429, 500, 502, 503, 504]
  private static let statusesOnce: Set<Int> = [408, 421]

  package static func isEligible(
    _ error: HTTPFetchError<any Error>, _ earlier: ArraySlice<HTTPFetchError<any Error>>, isIdempotent: Bool,
    hasKey: Bool
  ) -> Bool {
    switch error.reason {
    case .http(let status, _):
      if statusesOnce.contains(status.code), earlier.contains(where: { $0.statusCode == status }) { return false }
      switch status.code {
      case 421: return true
      case 408: return isIdempotent
      case 409: return !earlier.isEmpty && hasKey
      default: return isIdempotent && statuses.contains(status.code)
      }
    case .transport(let failure): return (isIdempotent || !failure.requestSent) && mayPass(failure)
    case .noRequest(let failure as any FailureTelling): return failure.mayPass
    default: return false
    }
  }

  /// Returns whether a fetch that a request depends on may be made again, because its own request was never sent.
  static func isEligibleUnsent(_ error: HTTPFetchError<any Error>) -> Bool {
    !error.attempts.contains(where: \.requestSent) && isEligible(error, [], isIdempotent: false, hasKey: false)
  }

  /// Returns whether the failure may be temporary.
  private static func mayPass(_ failure: TransportError) -> Bool {
    switch (failure.stage, failure.code) {
    case (.timeout, let code): code != .totalTimeout
    case (.tls, let code): code == .handshakeFailed
    case (.resolve, _), (.connect, _), (.send, _): true
    case (.proxy, let code):
      ![.proxyRefused, .clientCertificateRequired].contains(code) && !RetryVeto.certificateRefusals.contains(code)
    case (.response, let code):
      [.connectionLost, .receiveFailed, .truncatedBody, .http2Failure].contains(code)
    default: false
    }
  }
}
