// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// How a Gemini client knows that a server is the right one. Whatever it is, nothing of a request is sent before it is
/// settled.
public enum GeminiTrust: Sendable {
  /// What to do about a host that shows another key than the one it is known by.
  public enum Decision: Sendable, Hashable {
    /// Nothing is sent. The request fails with code `certificate_changed`.
    case refuse
    /// This request is sent; the host stays known by the old key.
    case acceptOnce
    /// This request is sent, and the host is known by the new key from now on.
    case replace
  }

  /// Asked about a change of key before the old certificate's end. The client has closed that connection, and makes a
  /// new one for the new key alone if it may.
  public typealias ChangeHandler = @Sendable (GeminiCertificateChange) async -> Decision

  /// Trust on first use: the key of a host is remembered when it is seen for the first time, and must stay the same
  /// until the end of its certificate's validity. No authority vouches for it, and the first time has to be believed.
  ///
  /// - Parameters:
  ///   - store: where keys are remembered.
  ///   - rules: what else a certificate has to be.
  ///   - onMismatch: decides about a change. Default `nil`: refused.
  case firstUse(
    any GeminiKnownHosts, rules: GeminiFirstUseRules = GeminiFirstUseRules(), onMismatch: ChangeHandler? = nil)

  /// As for `https`: the chain must lead to a trusted root and be for the host; then pins, where the connection options
  /// or the dialer have a judge with some (`TLSOptions.trustJudge`).
  case authorities

  /// By this judge alone, which is given what the server presented, unverified: for pins of keys that no authority
  /// vouches for.
  case judged(by: any ServerTrustJudge)
}

/// What a certificate has to be on first use, and after it, besides having the key that the host is known by.
public struct GeminiFirstUseRules: Sendable, Hashable {
  /// Whether it must be valid at the time. Default true.
  public var checksDates = true
  /// Whether it must be for the host: by its subject alternative names, or where it has none, its common name. Default
  /// true.
  public var checksHostName = true
  /// Whether a host may show another key once the certificate that it is known by has ended, as it has to; the decision
  /// is not asked for then. Default true. If false, that is a change like any other.
  public var acceptsNewKeyAfterExpiry = true

  /// Makes the default ones.
  public init() {}
}

/// A host that shows another key than the one it is known by, before the end of the old certificate.
public struct GeminiCertificateChange: Sendable, Hashable, CustomStringConvertible {
  /// The host.
  public var host: GeminiHost
  /// What it is known by.
  public var known: GeminiKnownHost
  /// What it shows.
  public var presented: GeminiKnownHost
  /// The certificate that it shows.
  public var certificate: PeerCertificate

  /// Makes one, as tests do.
  public init(
    host: GeminiHost, known: GeminiKnownHost, presented: GeminiKnownHost, certificate: PeerCertificate
  ) {
    self.host = host
    self.known = known
    self.presented = presented
    self.certificate = certificate
  }

  /// One sentence with both keys.
  public var description: String {
    "\(host) is known by the key \(known.pin) until \(known.expires.inCalendar), and shows the key \(presented.pin)"
  }
}
