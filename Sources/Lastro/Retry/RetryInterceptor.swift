// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Asks a retry policy about those failures that a retry may help.
///
/// What holds for every retry, whatever asks for it, is the stack's: `Retry-After` is not undercut, no wait is begun
/// that cannot end before the deadline, the quota of the origin pays, and what was vetoed stays vetoed.
///
/// ```swift
/// configuration.interceptors = [RetryInterceptor.standard]
/// let prompt = RetryInterceptor(policy: .maxRetries(2))
/// ```
public struct RetryInterceptor: HTTPResourceInterceptor {
  /// Which failures the policy is asked about.
  public enum Eligibility: Sendable, Hashable {
    /// - Any request: failures before a byte of it was sent (name resolution, connection, proxy, handshake, connect
    ///   timeout); status 421, once; an access token that could not be asked for, for one of these reasons.
    /// - Idempotent requests (``ResourceRequest/isIdempotent``): statuses 425, 429, 500, 502, 503, 504; 408, once; lost
    ///   or reset connections; truncated bodies, HTTP/2 failures; attempt and idle timeouts.
    /// - Requests with an `Idempotency-Key`, from the second attempt on: status 409, by which servers say that they
    ///   still work on the first.
    ///
    /// Never trust and certificate failures, cancellation, the total deadline, limits, decoding, redirects, refused
    /// requests, other statuses.
    case standard
    /// All. What the stack vetoes stays vetoed: trust, cancellation, the deadline, consumed bodies, and non-idempotent
    /// requests that may have been sent.
    case any
  }

  /// The policy that is asked about eligible failures.
  public let policy: HTTPRetryPolicy
  /// Which failures it is asked about. Default ``Eligibility/standard``.
  public let eligibility: Eligibility

  /// Wraps a policy; `eligibility` is ``Eligibility/standard`` by default.
  public init(policy: HTTPRetryPolicy, eligibility: Eligibility = .standard) {
    self.policy = policy
    self.eligibility = eligibility
  }

  /// ``Retry/Policy/standard`` for ``Eligibility/standard`` failures: what most stacks want.
  public static let standard = RetryInterceptor(policy: .standard)

  /// False: a policy decides at once.
  public var hooksWait: Bool { false }

  /// Asks the policy where the failure is eligible; has no opinion elsewhere.
  ///
  /// With ``Eligibility/standard`` the policy counts eligible failures only: the replay after a 401 is not one of its
  /// retries. ``Retry/State/totalDelay`` is that of all waits of the call.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    let metadata = HTTPRetryMetadata(request: request, body: body, response: response)
    return action(after: error, state: context.retryState, metadata: metadata)
  }

  func action(after error: HTTPFetchError<any Error>, state: Retry.State, metadata: HTTPRetryMetadata) -> Retry.Action {
    // Another policy, or this one, has retried what the request needed.
    if error.needsRetriedFetch { return .none }
    guard eligibility == .standard else { return policy.shouldRetry(with: error, state: state, metadata: metadata) }
    let earlier = state.errors.compactMap { $0 as? HTTPFetchError<any Error> }
    let isIdempotent = metadata.request?.isIdempotent ?? false
    let hasKey = metadata.request.map { $0.head.headerFields[.idempotencyKey] != nil }
    guard Self.isEligible(error, earlier[...], isIdempotent: isIdempotent, hasKey: hasKey ?? false) else {
      return .none
    }
    var state = state
    // What was retried might be sent twice, even where this attempt came to no request that says so.
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

  /// Whether another fetch, which a request waited for, may be made again: it never got its request out.
  static func isEligibleUnsent(_ error: HTTPFetchError<any Error>) -> Bool {
    !error.attempts.contains(where: \.requestSent) && isEligible(error, [], isIdempotent: false, hasKey: false)
  }

  /// Whether the failure is one that time may heal.
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
