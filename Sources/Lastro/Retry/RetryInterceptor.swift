// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Asks a retry policy about those failures that a retry may help.
public struct RetryInterceptor: HTTPResourceInterceptor {
  /// Which failures the policy is asked about.
  public enum Eligibility: Sendable, Hashable {
    /// - Any method: failures before a byte of the request was sent (name resolution, connection, proxy, handshake,
    ///   connect timeout).
    /// - Idempotent requests: statuses 408, 425, 429, 500, 502, 503, 504; lost or reset connections; attempt and idle
    ///   timeouts.
    ///
    /// Never trust and certificate failures, cancellation, the total deadline, limits, decoding, redirects, refused
    /// requests, other statuses.
    case standard
    /// All. What the stack vetoes stays vetoed: trust, cancellation, the deadline, consumed bodies, and non-idempotent
    /// requests that may have been sent.
    case any
  }

  /// The policy.
  public let policy: HTTPRetryPolicy
  /// Which failures it is asked about. Default ``Eligibility/standard``.
  public let eligibility: Eligibility

  /// Wraps a policy.
  public init(policy: HTTPRetryPolicy, eligibility: Eligibility = .standard) {
    self.policy = policy
    self.eligibility = eligibility
  }

  /// Asks the policy where the failure is eligible; has no opinion elsewhere.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    guard eligibility == .any || Self.isEligible(error, request: request) else { return .none }
    return policy.shouldRetry(
      with: error, state: context.retryState,
      metadata: HTTPRetryMetadata(request: request, body: body, response: response))
  }

  private static let statuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

  private static func isEligible(_ error: HTTPFetchError<any Error>, request: ResourceRequest?) -> Bool {
    let isIdempotent = request?.isIdempotent ?? false
    switch error.reason {
    case .http(let status, _): return isIdempotent && statuses.contains(status.code)
    case .transport(let failure): return (isIdempotent || !failure.requestSent) && mayPass(failure)
    default: return false
    }
  }

  /// Whether the failure is one that time may heal.
  private static func mayPass(_ failure: TransportError) -> Bool {
    switch (failure.stage, failure.code) {
    case (.timeout, let code): code != .totalTimeout
    case (.tls, let code): code == .handshakeFailed
    case (.resolve, _), (.connect, _), (.send, _): true
    case (.proxy, let code): code != .proxyRefused
    case (.response, let code):
      [.connectionLost, .receiveFailed, .truncatedBody, .http2Failure].contains(code)
    default: false
    }
  }
}
