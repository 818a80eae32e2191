// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro

/// A Gemini host: a name and a port. Keys are stored per host.
package struct GeminiHost: Sendable, Hashable, CustomStringConvertible {
  /// The name or address.
  package let host: HostName
  /// The port.
  package let port: Int

  /// Creates a host.
  ///
  /// - Throws: code `invalid_url` for a port outside 1 to 65,535.
  package init(_ host: HostName, port: Int = GeminiURL.defaultPort) throws(GeminiError) {
    guard 1...65_535 ~= port else {
      throw .invalidURL("port \(port) is out of range (1…65535)", hint: "Gemini's is 1965")
    }
    self.host = host
    self.port = port
  }

  /// The text `host:port`, with an IPv6 address in brackets.
  package var description: String { "\(bracketed):\(port)" }

  var urlText: String { port == GeminiURL.defaultPort ? bracketed : description }

  private var bracketed: String { host.text.bracketedHost }
}
