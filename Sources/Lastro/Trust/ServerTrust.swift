// SPDX-License-Identifier: Apache-2.0

/// A server that ordinary validation has accepted: its chain leads to a trusted root, is valid now, and is for this
/// host. What a ``ServerTrustJudge`` decides on.
public struct ServerTrust: Sendable, Hashable {
  /// The end of the connection that presented the chain.
  public enum Role: Sendable, Hashable {
    /// The server that the request is for.
    case server
    /// An HTTPS proxy on the way to it.
    case proxy
  }

  /// The host that was connected to, by its canonical name.
  public var host: HostName
  /// The port that the connection was made to.
  public var port: Int
  /// Whether it is the server, or a proxy.
  public var role: Role
  /// The verified chain, leaf first, root last; the root too where the server did not send it.
  public var chain: [PeerCertificate]
  /// Certificates that the server sent and that are not part of the verified chain. They prove nothing.
  public var otherCertificates: [PeerCertificate]

  /// Makes one, as tests do.
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
