// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The TLS options of a loopback server, including failures.
public struct LoopbackTLS: Sendable {
  /// A failure of the handshake, after which the handler does not run.
  public enum HandshakeFault: Sendable, Hashable {
    /// Reads and sends nothing until the client gives up or the server stops.
    case stallInHandshake
    /// Reads the ClientHello, then resets the connection.
    case resetInHandshake
    /// Reads the ClientHello, then closes the connection properly.
    case closeInHandshake
    /// Reads the ClientHello and responds with `400 Bad Request` in plaintext.
    case plaintextInsteadOfTLS
  }

  /// The certificate, its key and its chain.
  public var identity: MintedCertificate
  /// The certificates that are presented instead to clients that request these names (SNI, RFC 6066 §3), so that one
  /// server can represent several hosts. Names are compared case-insensitively, without wildcards. Default: none.
  public var identitiesByName: [String: MintedCertificate] = [:]
  /// The DER-encoded OCSP response that is stapled if the client asks for one (RFC 6066 §8), valid or not. Default:
  /// none.
  public var ocspResponse: [UInt8]?
  /// The oldest version. Default TLS 1.2.
  public var minimumVersion = TLSOptions.Version.v1_2
  /// The newest version. Default TLS 1.3.
  public var maximumVersion = TLSOptions.Version.v1_3
  /// The protocols to select from (RFC 7301), in order of preference. Default: none, and no protocol is negotiated.
  public var applicationProtocols: [String] = []
  /// The PEM text of authorities; if set, a client certificate issued by one of them is required.
  public var clientAuthoritiesPEM: String?
  /// Whether sessions may be resumed. Default true.
  package var allowsResumption = true
  /// The failure of the handshake. Default: none.
  public var handshakeFault: HandshakeFault?

  /// Creates the default options for an identity.
  public init(_ identity: MintedCertificate, handshakeFault: HandshakeFault? = nil) {
    self.identity = identity
    self.handshakeFault = handshakeFault
  }
}
