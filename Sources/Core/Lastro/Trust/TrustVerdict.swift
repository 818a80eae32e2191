// SPDX-License-Identifier: Apache-2.0

/// The extent to which the server's identity was verified for the connection of a transfer. The set of words is open.
public struct TrustVerdict: RawRepresentable, Sendable, Hashable, Codable {
  /// The word for the verdict in logs and facts.
  public let rawValue: String

  /// Wraps a word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The connection has no TLS, so nothing is known about the server.
  public static let plain = Self(rawValue: "plain")
  /// The chain leads to a trusted root, and the certificate is for this host.
  public static let validated = Self(rawValue: "validated")
  /// The chain leads to a trusted root, and the certificate has a SPIFFE ID that ``TLSOptions/peer`` requires. The host
  /// name was not checked.
  public static let spiffe = Self(rawValue: "spiffe")
  /// The same as ``validated`` or ``spiffe``, and one of the keys of the chain is pinned.
  public static let pinned = Self(rawValue: "pinned")
  /// The same as ``validated`` or ``spiffe``, but no key is pinned; a policy in report-only mode accepted the server.
  public static let reported = Self(rawValue: "reported")
  /// The same as ``validated`` or ``spiffe``; the policy for this host has expired, and adds nothing to that.
  public static let policyExpired = Self(rawValue: "policy_expired")
}
