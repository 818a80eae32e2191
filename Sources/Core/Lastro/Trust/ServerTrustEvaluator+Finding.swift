// SPDX-License-Identifier: Apache-2.0

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

      private var rank: Int {
        switch self {
        case .note: 0
        case .warning: 1
        case .error: 2
        }
      }
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
    public init(_ severity: Severity, _ code: Code, host: HostName, message: String, hint: String) {
      self.severity = severity
      self.code = code
      self.host = host
      self.message = message
      self.hint = hint
    }

    enum CodingKeys: String, CodingKey { case severity, code, host, message, hint }

    /// Writes the finding, with the host as its name.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(severity, forKey: .severity)
      try container.encode(code, forKey: .code)
      try container.encode(host.text, forKey: .host)
      try container.encode(message, forKey: .message)
      try container.encode(hint, forKey: .hint)
    }

    /// The finding on one line.
    public var description: String { "\(severity.rawValue) \(code.rawValue): \(host.text): \(message) (\(hint))" }
  }
}
