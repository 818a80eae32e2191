// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The refusal of a server that ordinary validation accepted. It has all details needed to find the cause, and to
/// correct the configuration if that is at fault.
public struct TrustFailure: Error, Sendable, Hashable {
  /// The reason of a refusal. Later versions may add reasons: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable, Hashable {
    /// None of the keys of the verified chain is pinned.
    case noPinMatches
    /// The policy has expired, and refuses servers after its expiration.
    case policyExpired(Date)
    /// The host has no policy, and hosts without a policy are refused.
    case hostNotPinned
    /// The request uses plain `http`, but the host's key is pinned.
    case plaintext
    /// The connection has no chain that was verified in its own handshake, so there is nothing to judge.
    case unproven
    /// A custom judge refused the server, for the reason in the text.
    case refused(String)
  }

  /// The reason why the server was refused.
  public var reason: Reason
  /// The server or proxy, with the certificates that it presented.
  public var trust: ServerTrust
  /// The policy that was applied; `nil` if there is none.
  public var policy: PinningPolicy?

  /// Creates a failure.
  public init(_ reason: Reason, trust: ServerTrust, policy: PinningPolicy? = nil) {
    self.reason = reason
    self.trust = trust
    self.policy = policy
  }
}
