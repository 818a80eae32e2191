// SPDX-License-Identifier: Apache-2.0

/// What is known about an open stream.
public struct StreamFacts: Sendable, Hashable {
  /// What TLS agreed on.
  public struct TLS: Sendable, Hashable {
    /// Such as `TLSv1.3` (`SSL_get_version`).
    public var version: String
    /// Such as `TLS_AES_256_GCM_SHA384` (`SSL_get_cipher_name`); `nil` where it is not told.
    public var cipher: String?
    /// The application protocol that the server picked (ALPN, RFC 7301); `nil` for none.
    public var applicationProtocol: String?
    /// What the server presented, leaf first.
    public var presentedChain: [PeerCertificate]

    /// Makes the facts of a TLS connection, for dialers of one's own.
    public init(
      version: String, cipher: String? = nil, applicationProtocol: String? = nil, presentedChain: [PeerCertificate] = []
    ) {
      self.version = version
      self.cipher = cipher
      self.applicationProtocol = applicationProtocol
      self.presentedChain = presentedChain
    }
  }

  /// Address of the server, or of the nearest proxy, or the path of its Unix socket; `nil` where there is none.
  public var remoteAddress: String?
  /// Port of that server or proxy.
  public var remotePort: Int?
  /// Port of our own end.
  public var localPort: Int?
  /// TLS with the host that was dialed; `nil` for none.
  public var tls: TLS?
  /// What the host was accepted as.
  public var trust: TrustVerdict

  /// Makes facts. `trust` is ``TrustVerdict/plain`` by default, which is what a stream without TLS is.
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
