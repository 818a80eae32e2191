// SPDX-License-Identifier: Apache-2.0

/// The address of one of several servers that share a name.
///
/// A request with such an address is sent to that server alone. Its URL, `Host`, TLS name, pins and cookies stay those
/// of the name.
package struct MemberAddress: Sendable, Hashable, CustomStringConvertible {
  /// An IPv4 address, or an IPv6 address without brackets, in canonical text.
  package let host: String
  /// The port to connect to; `nil` for that of the URL.
  package let port: Int?

  /// Parses `192.0.2.7`, `192.0.2.7:8443`, `2001:db8::7`, `[2001:db8::7]` or `[2001:db8::7]:8443`.
  ///
  /// - Throws: `ConfigurationError` for a text that is not an address, and for a port that is not 1 to 65535.
  package init(_ text: String) throws(ConfigurationError) {
    if let name = try? HostName(text), name.isIPAddress {
      host = name.text
      port = nil
      return
    }
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), let name = try? HostName(String(text[..<colon])),
      name.isIPAddress, name.text.utf8.contains(UInt8(ascii: ".")) || text.utf8.first == UInt8(ascii: "["),
      let port = Self.port(text[text.utf8.index(after: colon)...])
    else {
      throw ConfigurationError(
        "\"\(text.prefix(100).escapedForDisplay)\" is not an address",
        hint: "write it as 192.0.2.7:8443 or [2001:db8::7]:8443, without a name")
    }
    host = name.text
    self.port = port
  }

  package init(host: String, port: Int?) {
    self.host = host
    self.port = port
  }

  private static func port(_ text: Substring) -> Int? {
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), text.utf8.count <= 5, let port = Int(text) else {
      return nil
    }
    return (1...65_535).contains(port) ? port : nil
  }

  package var description: String { port.map { "\(host.bracketedHost):\($0)" } ?? host }
}
