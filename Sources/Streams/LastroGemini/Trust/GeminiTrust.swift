// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

/// The way a Gemini client decides whether to trust a server. With every policy, no part of a request is sent before
/// that decision.
public struct GeminiTrust: Sendable {
  /// The decision about a host that presents a different key than the known one.
  public enum Decision: Sendable, Hashable {
    /// Sends nothing. The request fails with code `certificate_changed`.
    case refuse
    /// Sends this request; the known key stays the old one.
    case acceptOnce
    /// Sends this request, and stores the new key.
    case replace
  }

  /// A closure that decides about a changed key before the old certificate has expired. It receives the error that a
  /// refusal throws: its message has both keys, and `cause?.trustFailure` the presented certificates. The client has
  /// closed that connection. If the key is accepted, it opens a new connection that accepts only this key.
  public typealias ChangeHandler = @Sendable (GeminiError) async -> Decision

  package enum Kind: Sendable {
    case firstUse(any GeminiKnownHosts, rules: GeminiFirstUseRules, onMismatch: ChangeHandler?)
    case authorities
    case judged(by: any ServerTrustJudge)
  }

  package let kind: Kind

  /// Trust on first use: the key of a host is stored when it is first seen, and must stay the same until its
  /// certificate expires. No authority vouches for it, and the first connection has to be trusted.
  ///
  /// A file of known keys may be shared by several processes: it is read on every look-up, and replaced (mode 0600)
  /// under a lock on a file of the same name plus `.lock`. Its first line is `lastro-known-hosts 1`; every other line
  /// has a host, a port, the pin of the key, and the expiry of the certificate in UTC. Lines that begin with `#` are
  /// comments. A line that cannot be parsed fails every request, because its host would otherwise count as never seen.
  ///
  /// - Parameters:
  ///   - path: the path of the file of known keys, which is created when the first key is stored; its directory must
  ///     exist. Default `nil`: keys are kept in memory, as long as this value is.
  ///   - checksDates: whether the certificate must be valid at the current time. Default true.
  ///   - checksHostName: whether the certificate must be for the host: by its subject alternative names, or by its
  ///     common name if it has none. Default true.
  ///   - acceptsNewKeyAfterExpiry: whether a host may present a new key without a decision once the known certificate
  ///     has expired. Default true. If false, that is a change like any other.
  ///   - onMismatch: decides about a changed key. Default `nil`: it is refused.
  public static func firstUse(
    path: String? = nil, checksDates: Bool = true, checksHostName: Bool = true, acceptsNewKeyAfterExpiry: Bool = true,
    onMismatch: ChangeHandler? = nil
  ) -> Self {
    var rules = GeminiFirstUseRules()
    rules.checksDates = checksDates
    rules.checksHostName = checksHostName
    rules.acceptsNewKeyAfterExpiry = acceptsNewKeyAfterExpiry
    let store: any GeminiKnownHosts =
      if let path { GeminiKnownHostsFile(path: path) } else { GeminiMemoryKnownHosts() }
    return firstUse(storing: store, rules: rules, onMismatch: onMismatch)
  }

  package static func firstUse(
    storing store: any GeminiKnownHosts, rules: GeminiFirstUseRules = GeminiFirstUseRules(),
    onMismatch: ChangeHandler? = nil
  ) -> Self {
    Self(kind: .firstUse(store, rules: rules, onMismatch: onMismatch))
  }

  /// Trust as for `https`: the chain must lead to a trusted root and be valid for the host. Pins are checked too, if
  /// the connection options or the dialer have a judge with pins (`TLSOptions.trustJudge`).
  public static let authorities = Self(kind: .authorities)

  /// Trust by this judge alone. It receives the presented certificates unverified, for pins of keys that no authority
  /// vouches for.
  public static func judged(by judge: any ServerTrustJudge) -> Self { Self(kind: .judged(by: judge)) }
}

/// The requirements on a certificate for trust on first use, besides having the known key of the host.
package struct GeminiFirstUseRules: Sendable, Hashable {
  /// Whether the certificate must be valid at the current time. Default true.
  package var checksDates = true
  /// Whether the certificate must be for the host: by its subject alternative names, or by its common name if it has
  /// none. Default true.
  package var checksHostName = true
  /// Whether a host may present a new key without a decision once the known certificate has expired. Default true. If
  /// false, that is a change like any other.
  package var acceptsNewKeyAfterExpiry = true

  /// Creates the default rules.
  package init() {}
}
