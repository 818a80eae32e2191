// SPDX-License-Identifier: Apache-2.0

/// The facts about an open stream.
public struct StreamFacts: Sendable, Hashable {
  /// The parameters that the TLS handshake negotiated.
  public struct TLS: Sendable, Hashable {
    /// The protocol version, such as `TLSv1.3` (`SSL_get_version`).
    public var version: String
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384` (`SSL_get_cipher_name`); `nil` if it is not known.
    public var cipher: String?
    /// The application protocol that the server selected (ALPN, RFC 7301); `nil` for none.
    public var applicationProtocol: String?
    /// The certificates that the server presented, leaf first.
    public var presentedChain: [PeerCertificate]

    /// Creates the facts of a TLS connection, for custom dialers.
    public init(
      version: String, cipher: String? = nil, applicationProtocol: String? = nil, presentedChain: [PeerCertificate] = []
    ) {
      self.version = version
      self.cipher = cipher
      self.applicationProtocol = applicationProtocol
      self.presentedChain = presentedChain
    }
  }

  /// The address of the server or the nearest proxy, or the path of its Unix socket; `nil` if there is none.
  public var remoteAddress: String?
  /// The port of that server or proxy.
  public var remotePort: Int?
  /// The local port.
  public var localPort: Int?
  /// The facts about TLS with the host that was dialed; `nil` for no TLS.
  public var tls: TLS?
  /// The trust verdict for the host.
  public var trust: TrustVerdict

  /// Creates facts. The default of `trust` is ``TrustVerdict/plain``, for a stream without TLS.
  public init(
    remoteAddress: String? = nil, remotePort: Int? = nil, localPort: Int? = nil, tls: TLS? = nil,
    trust: TrustVerdict = .plain
  ) {
    self.remoteAddress = remoteAddress
    self.remotePort = remotePort
    self.localPort = localPort
    self.tls = tls
    self.trust = trust
  }
}
