// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

extension ServerTrustEvaluator.Configuration {
  /// Reports present and future faults of the configuration, and facts that are worth knowing. It opens no connection.
  ///
  /// - Parameters:
  ///   - served: the verified chains of hosts, leaf first, as their servers present them now. Without them, the checks
  ///     that need chains are skipped. Default none.
  ///   - date: the current time for the checks. Default: now.
  ///   - policyExpiration: the time before a policy's expiration from which it is reported. Default 30 days.
  ///   - certificateExpiration: the time before the expiry of a served certificate from which it is reported. Default 7
  ///     days: certificates with a lifetime of 47 days are renewed about 15 days before they expire.
  /// - Returns: the findings: first those of the policies, in their order, then those about hosts without a policy.
  public func lint(
    served: [HostName: [PeerCertificate]] = [:], at date: Date = Date(),
    policyExpiration: Duration = .seconds(30 * 86_400), certificateExpiration: Duration = .seconds(7 * 86_400)
  ) -> [ServerTrustEvaluator.Finding] {
    lint(
      served: served, at: date, policyExpiration: policyExpiration, certificateExpiration: certificateExpiration,
      publicSuffixes: .system)
  }

  /// Returns the same findings, but with another list of public suffixes.
  package func lint(
    served: [HostName: [PeerCertificate]], at date: Date, policyExpiration: Duration, certificateExpiration: Duration,
    publicSuffixes: @autoclosure () -> PublicSuffixList
  ) -> [ServerTrustEvaluator.Finding] {
    let chains = served.sorted { $0.key.text < $1.key.text }
    let ofPolicies = pinningPolicies.flatMap { policy in
      let linter = PinLinter(
        policy: policy, parent: parentPolicy(of: policy.host), configuration: self,
        chains: chains.filter { self.policy(for: $0.key) == policy }.map { ($0.key, $0.value) }, date: date,
        policyExpiration: policyExpiration, certificateExpiration: certificateExpiration)
      return linter.findings
    }
    let strangers = allowNotPinnedDomains ? [] : chains.map(\.key).filter { policy(for: $0) == nil }
    return ofPolicies + ofSuffixes(publicSuffixes)
      + strangers.map { host in
        ServerTrustEvaluator.Finding(
          .error, .hostNotPinned, host: host, message: "the host has no policy, so it is refused",
          hint: "add a policy for it, or set allowNotPinnedDomains")
      }
  }

  /// Returns a single finding, for the first such policy, because the finding is about the machine.
  private func ofSuffixes(_ list: () -> PublicSuffixList) -> [ServerTrustEvaluator.Finding] {
    guard let policy = pinningPolicies.first(where: \.includeSubdomains), list().isEmpty else { return [] }
    return [
      ServerTrustEvaluator.Finding(
        .note, .noPublicSuffixList, host: policy.host,
        message:
          "without a public suffix list, names such as co.uk, below which anyone may register a name, are not refused",
        hint: "install \(PublicSuffixList.systemPath), as Debian's package publicsuffix does")
    ]
  }
}

/// Checks one policy.
struct PinLinter {
  let policy: PinningPolicy
  /// The policy that would apply without this one.
  let parent: PinningPolicy?
  let configuration: ServerTrustEvaluator.Configuration
  /// The served chains of the hosts that the policy applies to.
  let chains: [(host: HostName, chain: [PeerCertificate])]
  let date: Date
  let policyExpiration: Duration
  let certificateExpiration: Duration

  var findings: [ServerTrustEvaluator.Finding] {
    if policy.mode == .off { return ofOff }
    var result = ofExpiration + ofParent
    if policy.mode == .reportOnly {
      result.append(
        finding(
          .warning, .reportOnly, "the policy is in report-only mode: it refuses nothing",
          "once no more failures are reported, set the mode to enforce"))
    }
    return result + ofPins + chains.flatMap { matches(of: $0.host, $0.chain) + expiration(of: $0.host, $0.chain) }
  }

  private func finding(
    _ severity: ServerTrustEvaluator.Finding.Severity, _ code: ServerTrustEvaluator.Finding.Code, _ message: String,
    _ hint: String
  ) -> ServerTrustEvaluator.Finding {
    ServerTrustEvaluator.Finding(severity, code, host: policy.host, message: message, hint: hint)
  }

  private var ofOff: [ServerTrustEvaluator.Finding] {
    if let parent, parent.mode != .off, let effect = effect(of: parent) {
      // A policy with pins that is off was probably meant to be on.
      let isWeaker = !policy.pins.isEmpty && parent.mode == .enforce
      return [
        finding(
          isWeaker ? .warning : .note, .off, "the host is not pinned, although \(effect)",
          isWeaker ? "set its mode to enforce, or drop it" : "drop this policy once it can be pinned as well")
      ]
    }
    let reason: String
    if let parent {
      reason = "the one for \(parent.scope) \(parent.mode == .off ? "is off as well" : "has expired")"
    } else if configuration.allowNotPinnedDomains {
      reason = "no other policy covers the host"
    } else {
      return [finding(.note, .off, "the host is not pinned, although hosts without a policy are refused", "pin it")]
    }
    return [
      finding(
        .warning, .unreachable, "the policy is off and has no effect: \(reason)", "drop it, or set its mode to enforce")
    ]
  }

  /// Returns a clause that says how a parent's policy would treat the host; `nil` if that policy has expired and falls
  /// back.
  private func effect(of parent: PinningPolicy) -> String? {
    let name = "the policy for \(parent.scope)"
    if parent.isExpired(at: date) {
      guard case .refuse = parent.expiration else { return nil }
      return parent.mode == .enforce ? "\(name), which has expired, would refuse it" : "\(name) would report it"
    }
    return parent.mode == .enforce ? "\(name) would pin it" : "\(name) would report it"
  }

  private var ofExpiration: [ServerTrustEvaluator.Finding] {
    guard let end = policy.expiration.date else {
      return [
        finding(
          .note, .noExpiration, "the policy never expires",
          "consider an expiration: a program that is not updated loses the host with the last of its pinned keys")
      ]
    }
    let refuses = if case .refuse = policy.expiration { policy.mode == .enforce } else { false }
    let hint = "check its pins, and set a later date"
    if policy.isExpired(at: date) {
      return [
        finding(
          refuses ? .error : .warning, .policyExpired,
          "the policy expired at \(end.inCalendar): the host is \(refuses ? "refused" : "not pinned")", hint)
      ]
    }
    guard end.timeIntervalSince(date) < policyExpiration.inSeconds else { return [] }
    return [
      finding(
        .warning, .policyExpires,
        "the policy expires at \(end.inCalendar): then the host is \(refuses ? "refused" : "not pinned")", hint)
    ]
  }

  private var ofParent: [ServerTrustEvaluator.Finding] {
    guard let parent, parent.mode != .off else { return [] }
    let name = "the policy for \(parent.scope)"
    if parent.pins == policy.pins, parent.mode == policy.mode, parent.expiration == policy.expiration {
      return [finding(.note, .redundant, "the policy repeats \(name)", "drop it")]
    }
    var result: [ServerTrustEvaluator.Finding] = []
    guard let effect = effect(of: parent) else { return [] }
    if policy.mode == .reportOnly, parent.mode == .enforce {
      result.append(
        finding(
          .warning, .weakerThanParent, "the policy only reports what \(name) would refuse",
          "it takes the other's place; set its mode to enforce, or drop it"))
    }
    if case .fallBack(let end) = policy.expiration {
      if case .fallBack(let parentEnd) = parent.expiration, parentEnd <= end { return result }
      result.append(
        finding(
          .warning, .weakerThanParent, "once it expires the host is not pinned, although \(effect)",
          "let it refuse after its expiration, or drop it in time"))
    }
    return result
  }
}

extension PinLinter {
  private var ofPins: [ServerTrustEvaluator.Finding] {
    if policy.pins.count == 1 {
      return [
        finding(
          .warning, .noBackupPin, "the policy has only one pin: with the loss of its key the host is cut off",
          "add that of a backup key")
      ]
    }
    let served = Set(chains.flatMap(\.chain).map(\.pin))
    guard !policy.pins.isDisjoint(with: served) else { return [] }
    let others = policy.sortedPins.filter { !served.contains($0) }
    switch others.count {
    case 0:
      return [
        finding(
          .warning, .noBackupPin, "every pin is of a key in use: none is a backup (RFC 7469 §2.5)",
          "add the pin of a key that is kept apart, for which there need be no certificate yet")
      ]
    case 1: return []
    default:
      let names = others.map(\.description).joined(separator: ", ")
      return [
        finding(
          .note, .pinsNotServed, "\(others.count) pins are of keys that the host does not present: \(names)",
          "keep the backup keys, and drop those that were retired")
      ]
    }
  }

  private func matches(of host: HostName, _ chain: [PeerCertificate]) -> [ServerTrustEvaluator.Finding] {
    guard !policy.isExpired(at: date) else { return [] }
    let matching = chain.indices.filter { policy.pins.contains(chain[$0].pin) }
    if matching.isEmpty {
      let keys = chain.map { "\($0.pin)" }.joined(separator: ", ")
      return [
        finding(
          policy.mode == .enforce ? .error : .warning, .noPinMatches,
          "none of the keys of \(host) is pinned, so it \(policy.mode == .enforce ? "is" : "would be") refused",
          "its verified chain, leaf first: \(keys)")
      ]
    }
    guard matching == [0], chain.count > 1, let facts = chain[0].facts else { return [] }
    let days = Int(exactly: (facts.notAfter.timeIntervalSince(facts.notBefore) / 86_400).rounded()) ?? 0
    return [
      finding(
        .warning, .leafOnly,
        "of the verified chain of \(host) only the leaf is pinned, whose certificate lives for \(days) days",
        "renew it with the same key, or pin its issuer too; from 2029 on certificates live for 47 days at most"
      )
    ]
  }

  private func expiration(of host: HostName, _ chain: [PeerCertificate]) -> [ServerTrustEvaluator.Finding] {
    chain.compactMap { certificate in
      guard let facts = certificate.facts else { return nil }
      let left = facts.notAfter.timeIntervalSince(date)
      guard left < certificateExpiration.inSeconds else { return nil }
      return finding(
        left < 0 ? .error : .warning, left < 0 ? .certificateExpired : .certificateExpires,
        "\(host)'s verified chain has a certificate that \(left < 0 ? "expired" : "expires"): \(certificate.summary)",
        "a certificate for the same key keeps its pin; for a new key, add its pin first")
    }
  }
}

extension ServerTrustEvaluator {
  /// A present or future fault in a pinning configuration, or a fact about it that is worth knowing.
  public struct Finding: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// The severity of a finding.
    public enum Severity: String, Sendable, Hashable, Comparable, CaseIterable, Codable {
      /// The finding is worth knowing.
      case note
      /// The configuration will sooner or later make a host unreachable, or leave it unprotected.
      case warning
      /// The configuration makes a host unreachable now.
      case error

      /// Orders severities from the mildest to the worst.
      public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

      private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    /// The kind of a finding, as a stable word. Later versions may add kinds: a `switch` needs an `@unknown default`.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable, Codable {
      /// None of the keys of a served chain is pinned.
      case noPinMatches = "no_pin_matches"
      /// A served host has no policy, and hosts without a policy are refused.
      case hostNotPinned = "host_not_pinned"
      /// A policy has only one pin, or all its pins are in the served chains.
      case noBackupPin = "no_backup_pin"
      /// Only the leaf of a served chain is pinned.
      case leafOnly = "leaf_only"
      /// Several pins are in none of the served chains.
      case pinsNotServed = "pins_not_served"
      /// A policy has expired.
      case policyExpired = "policy_expired"
      /// A policy expires soon.
      case policyExpires = "policy_expires"
      /// A policy never expires.
      case noExpiration = "no_expiration"
      /// A certificate of a served chain has expired.
      case certificateExpired = "certificate_expired"
      /// A certificate of a served chain expires soon.
      case certificateExpires = "certificate_expires"
      /// A policy repeats its parent's policy.
      case redundant
      /// A policy is less strict than its parent's policy.
      case weakerThanParent = "weaker_than_parent"
      /// A policy has no effect.
      case unreachable
      /// A policy is in report-only mode.
      case reportOnly = "report_only"
      /// A policy is off.
      case off
      /// Policies include subdomains, but the machine has no public suffix list to check them against.
      case noPublicSuffixList = "no_public_suffix_list"
    }

    /// The severity of the finding.
    public var severity: Severity
    /// The kind of finding.
    public var code: Code
    /// The host of the policy; without a policy, the host that the finding is about.
    public var host: HostName
    /// A sentence that describes the finding.
    public var message: String
    /// A suggested fix.
    public var hint: String

    /// Creates a finding.
    package init(_ severity: Severity, _ code: Code, host: HostName, message: String, hint: String) {
      self.severity = severity
      self.code = code
      self.host = host
      self.message = message
      self.hint = hint
    }

    /// The finding on one line.
    public var description: String { "\(severity.rawValue) \(code.rawValue): \(host.text): \(message) (\(hint))" }
  }
}

extension ServerTrustEvaluator {
  /// The findings that make the check of a pinning configuration fail, for example in a test.
  package struct LintError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The findings, the most severe first.
    package let findings: [ServerTrustEvaluator.Finding]

    /// A heading, and one line for each finding.
    package var description: String {
      let count = findings.count == 1 ? "1 problem" : "\(findings.count) problems"
      return (["\(count) with the pinning configuration:"] + findings.map { "  \($0)" }).joined(separator: "\n")
    }
  }
}

extension [ServerTrustEvaluator.Finding] {
  /// Returns if there is no finding of at least the given severity.
  ///
  /// ```swift
  /// try configuration.lint(served: chains).check()
  /// ```
  ///
  /// - Parameters:
  ///   - severity: the lowest severity that makes the check fail. Default
  ///     ``ServerTrustEvaluator/Finding/Severity/warning``.
  ///   - ignoring: the kinds of findings to ignore, of any severity, such as `[.leafOnly]` if keys are never changed.
  ///     Default none.
  /// - Throws: an error whose description has the findings that make the check fail, the most severe first.
  public func check(
    atLeast severity: ServerTrustEvaluator.Finding.Severity = .warning,
    ignoring: Set<ServerTrustEvaluator.Finding.Code> = []
  ) throws {
    let bad = filter { $0.severity >= severity && !ignoring.contains($0.code) }
    guard bad.isEmpty else { throw ServerTrustEvaluator.LintError(findings: bad.sorted { $0.severity > $1.severity }) }
  }
}
