// SPDX-License-Identifier: Apache-2.0

// Certificates hang in failures and reports that people print and `dump`: descriptions and mirrors without their bytes.

extension PeerCertificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// One line: pin, subject, kind of key, expiry.
  public var description: String { "\(pin)  \(summary)" }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Pin, and what it says of itself on one line.
  public var customMirror: Mirror { Mirror(self, children: ["pin": "\(pin)", "summary": summary]) }
}

extension ServerTrust: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// One line: host, port and role, and the pins of the chain.
  public var description: String {
    let pins = chain.isEmpty ? "no chain" : "chain \(chain.map { "\($0.pin)" }.joined(separator: ", "))"
    let count = otherCertificates.count
    let others = count == 0 ? "" : ", and \(count) other certificate\(count == 1 ? "" : "s")"
    return "\(server): \(pins)\(others)"
  }

  /// As ``description``.
  public var debugDescription: String { description }

  /// Its members; of certificates what they say of themselves.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "server": server, "chain": chain.map(\.description), "otherCertificates": otherCertificates.map(\.description),
      ])
  }

  /// Host and port, and whether it is a proxy.
  var server: String {
    let name = host.text.bracketedHost
    return (role == .proxy ? "the proxy " : "") + "\(name):\(port)"
  }
}
