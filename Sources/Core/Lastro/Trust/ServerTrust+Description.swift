// SPDX-License-Identifier: Apache-2.0

// Failures and reports contain certificates, and people print and `dump` them. Descriptions and mirrors therefore leave
// out the bytes of certificates.

extension PeerCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The pin, the subject, the kind of key and the expiry on one line.
  public var description: String { "\(pin)  \(summary)" }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// The pin, and the certificate's own fields on one line.
  public var customMirror: Mirror { Mirror(self, children: ["pin": "\(pin)", "summary": summary]) }
}

extension ServerTrust: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The host, the port, the role and the pins of the chain on one line.
  public var description: String {
    let pins = chain.isEmpty ? "no chain" : "chain \(chain.map { "\($0.pin)" }.joined(separator: ", "))"
    let count = otherCertificates.count
    let others = count == 0 ? "" : ", and \(count) other certificate\(count == 1 ? "" : "s")"
    return "\(server): \(pins)\(others)"
  }

  /// The same text as ``description``.
  public var debugDescription: String { description }

  /// The members, with certificates replaced by their descriptions.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "server": server, "chain": chain.map(\.description), "otherCertificates": otherCertificates.map(\.description),
      ])
  }

  /// The host and the port, with a prefix if the server is a proxy.
  var server: String {
    let name = host.text.bracketedHost
    return (role == .proxy ? "the proxy " : "") + "\(name):\(port)"
  }
}
