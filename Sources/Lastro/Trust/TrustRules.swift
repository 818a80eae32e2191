// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A configuration in force. Never changes: a handshake may go on with it while another one takes its place.
final class TrustRules: Sendable {
  /// What was found, and what follows.
  struct Verdict {
    /// What an accepted transfer says.
    var word: TrustVerdict
    /// The policy that held.
    var policy: PinningPolicy?
    /// What is wrong with the server.
    var failure: TrustFailure?
    /// Whether that is a refusal.
    var isEnforced = false
  }

  let configuration: ServerTrustEvaluator.Configuration
  let generation: UInt64
  /// When policies expire, the first first.
  private let expirations: [Date]

  init(_ configuration: ServerTrustEvaluator.Configuration, generation: UInt64) {
    self.configuration = configuration
    self.generation = generation
    expirations = configuration.pinningPolicies.compactMap { $0.mode == .off ? nil : $0.expiration.date }.sorted()
  }

  /// Whether the date matters.
  var everExpires: Bool { !expirations.isEmpty }

  /// Another number for every configuration, and for every number of its policies that have expired.
  func revision(at now: Date) -> UInt64 {
    let expired = expirations.firstIndex { $0 >= now } ?? expirations.count
    // No program has 2^32 policies, or swaps them so often.
    return generation << 32 | UInt64(truncatingIfNeeded: expired)
  }

  func judge(_ trust: ServerTrust, at now: Date) -> Verdict {
    judge(trust, at: now, unchecked: .validated) { policy in
      let order = configuration.certificateCheckingOrder.indices(forChainLength: trust.chain.count)
      return order.contains { policy.pins.contains(trust.chain[$0].pin) } ? nil : .noPinMatches
    }
  }

  /// As ``judge(_:at:)``, where there is no TLS: no key can be shown.
  func judgePlaintext(_ server: ServerTrust, at now: Date) -> Verdict {
    judge(server, at: now, unchecked: .plain) { _ in .plaintext }
  }

  private func judge(
    _ trust: ServerTrust, at now: Date, unchecked: TrustVerdict,
    problem: (PinningPolicy) -> TrustFailure.Reason?
  ) -> Verdict {
    guard let policy = configuration.policy(for: trust.host) else {
      // A proxy serves hosts of all policies; what it may see of them is what the way to it may see.
      let isAllowed = configuration.allowNotPinnedDomains || trust.role == .proxy
      return Verdict(
        word: unchecked, failure: isAllowed ? nil : TrustFailure(.hostNotPinned, trust: trust), isEnforced: !isAllowed)
    }
    if policy.mode == .off { return Verdict(word: unchecked, policy: policy) }
    let reason: TrustFailure.Reason?
    if policy.isExpired(at: now) {
      guard case .refuse(let date) = policy.expiration else {
        return Verdict(word: unchecked == .validated ? .policyExpired : unchecked, policy: policy)
      }
      reason = .policyExpired(date)
    } else {
      reason = problem(policy)
    }
    guard let reason else { return Verdict(word: .pinned, policy: policy) }
    return Verdict(
      word: unchecked == .validated ? .reported : unchecked, policy: policy,
      failure: TrustFailure(reason, trust: trust, policy: policy), isEnforced: policy.mode == .enforce)
  }

  func explanation(for host: HostName, at now: Date) -> String {
    guard let policy = configuration.policy(for: host) else {
      return configuration.allowNotPinnedDomains
        ? "no pinning policy: chain and host name suffice" : "no pinning policy: refused, as every host without one"
    }
    let name = "the pinning policy for \(policy.scope)"
    guard policy.mode != .off else { return "not pinned: \(name) is off, so chain and host name suffice" }
    if policy.isExpired(at: now), let date = policy.expiration.date {
      let passes = if case .refuse = policy.expiration, policy.mode == .enforce { false } else { true }
      return "\(name) expired at \(date.inCalendar): \(passes ? "chain and host name suffice" : "refused")"
    }
    let count = policy.pins.count
    return "\(name): \(count == 1 ? "its key" : "one of \(count) keys") must be in the chain"
      + (policy.mode == .reportOnly ? ", else it is only reported" : "")
      + (policy.expiration.date.map { ", until \($0.inCalendar)" } ?? "")
  }
}
