// SPDX-License-Identifier: Apache-2.0

/// How a loopback server speaks TLS, or fails to.
public struct LoopbackTLS: Sendable {
  /// A protocol version.
  public enum Version: Int, Sendable, Hashable, Comparable {
    /// TLS 1.0.
    case tls10 = 10
    /// TLS 1.1.
    case tls11 = 11
    /// TLS 1.2.
    case tls12 = 12
    /// TLS 1.3.
    case tls13 = 13

    /// By age.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  /// A handshake that never comes to an end. The handler does not run.
  public enum HandshakeFault: Sendable, Hashable {
    /// Reads nothing, answers nothing, until the client gives up or the server stops.
    case stallInHandshake
    /// Reads the ClientHello, then resets the connection.
    case resetInHandshake
    /// Reads the ClientHello, then closes the connection in order.
    case closeInHandshake
    /// Reads the ClientHello and answers it with `400 Bad Request` in the clear.
    case plaintextInsteadOfTLS
  }

  /// Certificate, key and chain.
  public var identity: MintedCertificate
  /// What is presented instead to clients that ask for these names (SNI, RFC 6066 §3), so that one server can be
  /// several hosts. Names are compared without case; no wildcards. Default none.
  public var identitiesByName: [String: MintedCertificate] = [:]
  /// A DER OCSP response that is stapled where the client asks for one (RFC 6066 §8), whatever it says. Default none.
  public var ocspResponse: [UInt8]?
  /// Oldest version. Default TLS 1.2.
  public var minimumVersion = Version.tls12
  /// Newest version. Default TLS 1.3.
  public var maximumVersion = Version.tls13
  /// Protocols to select from (RFC 7301), best first. Default none: no protocol is negotiated.
  public var applicationProtocols: [String] = []
  /// PEM text of authorities; when set, a client certificate issued by one of them is required.
  public var clientAuthoritiesPEM: String?
  /// Whether sessions may be resumed. Default true.
  public var allowsResumption = true
  /// How the handshake fails. Default: it does not.
  public var handshakeFault: HandshakeFault?

  /// Makes the default options for an identity.
  public init(_ identity: MintedCertificate, handshakeFault: HandshakeFault? = nil) {
    self.identity = identity
    self.handshakeFault = handshakeFault
  }
}
