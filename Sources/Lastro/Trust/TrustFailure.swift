// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Why a server that ordinary validation accepted was refused all the same: everything that is needed to find out who
/// is wrong, and to mend the configuration if it is.
public struct TrustFailure: Error, Sendable, Hashable {
  /// Why. Others may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable, Hashable {
    /// None of the keys of the verified chain is pinned.
    case noPinMatches
    /// The policy has expired, and says that this is a refusal.
    case policyExpired(Date)
    /// No policy is for this host, and hosts without one are refused.
    case hostNotPinned
    /// The request is for plain `http`, and the host's key is pinned.
    case plaintext
    /// The connection shows no chain that was verified in its own handshake, so there is nothing to judge.
    case unproven
    /// A judge of the application's own, in its words.
    case refused(String)
  }

  /// Why the server was refused.
  public var reason: Reason
  /// The server, or proxy, and what it presented.
  public var trust: ServerTrust
  /// The policy that was applied; `nil` where there is none.
  public var policy: PinningPolicy?

  /// Makes a failure.
  public init(_ reason: Reason, trust: ServerTrust, policy: PinningPolicy? = nil) {
    self.reason = reason
    self.trust = trust
    self.policy = policy
  }
}
