// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// Something about a pinning configuration that is wrong, will be, or should be known.
  public struct Finding: Sendable, Hashable, Encodable, CustomStringConvertible {
    /// How bad it is.
    public enum Severity: String, Sendable, Hashable, Comparable, CaseIterable, Codable {
      /// Worth knowing.
      case note
      /// Will cut a host off, or leave it unprotected, sooner or later.
      case warning
      /// Cuts a host off now.
      case error

      /// Worse ones come later.
      public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

      private var rank: Int {
        switch self {
        case .note: 0
        case .warning: 1
        case .error: 2
        }
      }
    }

    /// What was found, as a stable word. Others may come: a `switch` needs an `@unknown default`.
    @nonexhaustive
    public enum Code: String, Sendable, Hashable, CaseIterable, Codable {
      /// None of the keys of a served chain is pinned.
      case noPinMatches = "no_pin_matches"
      /// No policy is for a served host, and hosts without one are refused.
      case hostNotPinned = "host_not_pinned"
      /// There is one pin only, or all are in the served chains.
      case noBackupPin = "no_backup_pin"
      /// Of a served chain, only the leaf is pinned.
      case leafOnly = "leaf_only"
      /// Several pins are in no served chain.
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
      /// A policy says what its parent's says.
      case redundant
      /// A policy demands less than its parent's.
      case weakerThanParent = "weaker_than_parent"
      /// A policy has no effect.
      case unreachable
      /// A policy is in report-only mode.
      case reportOnly = "report_only"
      /// A policy is off.
      case off
      /// Policies include subdomains, and the machine has no public suffix list to check them by.
      case noPublicSuffixList = "no_public_suffix_list"
    }

    /// How bad it is.
    public var severity: Severity
    /// The kind of finding.
    public var code: Code
    /// The host of the policy; where there is none, the host that is concerned.
    public var host: HostName
    /// One sentence.
    public var message: String
    /// What to do about it.
    public var hint: String

    /// Makes a finding.
    public init(_ severity: Severity, _ code: Code, host: HostName, message: String, hint: String) {
      self.severity = severity
      self.code = code
      self.host = host
      self.message = message
      self.hint = hint
    }

    enum CodingKeys: String, CodingKey { case severity, code, host, message, hint }

    /// With the host by its name.
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
