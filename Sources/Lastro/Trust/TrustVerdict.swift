// SPDX-License-Identifier: Apache-2.0

/// How far the server's identity was established, for the connection a transfer ran on. An open set of stable words.
public struct TrustVerdict: RawRepresentable, Sendable, Hashable, Codable {
  /// The word by which logs and facts show the verdict.
  public let rawValue: String

  /// Wraps a word.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// No TLS: nothing is known about the server.
  public static let plain = Self(rawValue: "plain")
  /// The chain leads to a trusted root, and the certificate is for this host.
  public static let validated = Self(rawValue: "validated")
  /// As ``validated``, and one of the keys of the chain is pinned.
  public static let pinned = Self(rawValue: "pinned")
  /// As ``validated``; no key is pinned, which a policy in report-only mode let pass.
  public static let reported = Self(rawValue: "reported")
  /// As ``validated``; the policy for this host has expired, and says that this lets pass.
  public static let policyExpired = Self(rawValue: "policy_expired")
}
