// SPDX-License-Identifier: Apache-2.0

/// A server that ordinary validation has accepted: its certificate chain leads to a trusted root, is currently valid,
/// and is for this host, or has the SPIFFE ID that ``TLSOptions/peer`` requires. A ``ServerTrustJudge`` decides
/// whether to trust it.
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

// Failures and reports contain certificates, and people print and `dump` them. Descriptions and mirrors therefore leave
// out the bytes of certificates.

extension PeerCertificate: CustomStringConvertible, MaskedMirror {
  /// The pin, the subject, the kind of key and the expiry on one line.
  public var description: String { "\(pin)  \(summary)" }

  /// The pin, and the certificate's own fields on one line.
  package var shownChildren: KeyValuePairs<String, Any> { ["pin": "\(pin)", "summary": summary] }
}

extension ServerTrust: CustomStringConvertible, MaskedMirror {
  /// The host, the port, the role and the pins of the chain on one line.
  public var description: String {
    let pins = chain.isEmpty ? "no chain" : "chain \(chain.map { "\($0.pin)" }.joined(separator: ", "))"
    let count = otherCertificates.count
    let others = count == 0 ? "" : ", and \(count) other certificate\(count == 1 ? "" : "s")"
    return "\(server): \(pins)\(others)"
  }

  /// The members, with certificates replaced by their descriptions.
  package var shownChildren: KeyValuePairs<String, Any> {
    [
      "server": server, "chain": chain.map(\.description), "otherCertificates": otherCertificates.map(\.description),
    ]
  }

  /// The host and the port, with a prefix if the server is a proxy.
  var server: String {
    let name = host.text.bracketedHost
    return (role == .proxy ? "the proxy " : "") + "\(name):\(port)"
  }
}
