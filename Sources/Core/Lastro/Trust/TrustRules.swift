// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials

/// The rules of a configuration. They are immutable: a handshake may continue with them while another configuration
/// replaces them.
final class TrustRules: Sendable {
  /// The result of judging a server, and whether it is a refusal.
  struct Verdict {
    /// The verdict for the facts of an accepted transfer.
    var word: TrustVerdict
    /// The policy that was applied.
    var policy: PinningPolicy?
    /// The failure of the server, if there is one.
    var failure: TrustFailure?
    /// Whether the failure is a refusal.
    var isEnforced = false
  }

  let configuration: ServerTrustEvaluator.Configuration
  let generation: UInt64
  /// The expiration dates of policies, in ascending order.
  private let expirations: [Date]

  init(_ configuration: ServerTrustEvaluator.Configuration, generation: UInt64) {
    self.configuration = configuration
    self.generation = generation
    expirations = configuration.pinningPolicies.compactMap { $0.mode == .off ? nil : $0.expiration.date }.sorted()
  }

  /// Whether the result of judging depends on the date.
  var everExpires: Bool { !expirations.isEmpty }

  /// Returns a number that is different for each configuration, and for each count of its policies that have expired.
  func revision(at now: Date) -> UInt64 {
    let expired = expirations.firstIndex { $0 >= now } ?? expirations.count
    // A program never has 2^32 policies, and never replaces them that often.
    return generation << 32 | UInt64(truncatingIfNeeded: expired)
  }

  func judge(_ trust: ServerTrust, at now: Date) -> Verdict {
    judge(trust, at: now, unchecked: .validated) { policy in
      let order = configuration.certificateCheckingOrder.indices(forChainLength: trust.chain.count)
      return order.contains { policy.pins.contains(trust.chain[$0].pin) } ? nil : .noPinMatches
    }
  }

  /// Judges like ``judge(_:at:)``, but without TLS: the server cannot present a key.
  func judgePlaintext(_ server: ServerTrust, at now: Date) -> Verdict {
    judge(server, at: now, unchecked: .plain) { _ in .plaintext }
  }

  private func judge(
    _ trust: ServerTrust, at now: Date, unchecked: TrustVerdict,
    problem: (PinningPolicy) -> TrustFailure.Reason?
  ) -> Verdict {
    guard let policy = configuration.policy(for: trust.host) else {
      // A proxy serves hosts of all policies. It sees only what any network path to them sees.
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
