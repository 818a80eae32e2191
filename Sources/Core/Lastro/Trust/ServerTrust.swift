// SPDX-License-Identifier: Apache-2.0

/// A server that ordinary validation has accepted: its certificate chain leads to a trusted root, is currently valid,
/// and is for this host. A ``ServerTrustJudge`` decides whether to trust it.
public struct ServerTrust: Sendable, Hashable {
  /// The role of the peer that presented the chain.
  public enum Role: Sendable, Hashable {
    /// The server that the request is for.
    case server
    /// An HTTPS proxy between the client and the server.
    case proxy
  }

  /// The host of the connection, by its canonical name.
  public var host: HostName
  /// The port of the connection.
  public var port: Int
  /// Whether the peer is the server or a proxy.
  public var role: Role
  /// The verified chain, leaf first, root last. It has the root even if the server did not send it.
  public var chain: [PeerCertificate]
  /// The certificates that the server sent but that are not part of the verified chain. They prove nothing.
  public var otherCertificates: [PeerCertificate]

  /// Creates a value, for example in tests.
  public init(
    host: HostName, port: Int = 443, role: Role = .server, chain: [PeerCertificate],
    otherCertificates: [PeerCertificate] = []
  ) {
    self.host = host
    self.port = port
    self.role = role
    self.chain = chain
    self.otherCertificates = otherCertificates
  }
}
