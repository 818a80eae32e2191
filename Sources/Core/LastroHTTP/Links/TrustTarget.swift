// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The host and port that a TLS connection is made to.
package struct TrustTarget: Hashable {
  package var host: HostName
  package var port: Int

  package init(host: HostName, port: Int) {
    self.host = host
    self.port = port
  }

  package init?(authority: String, defaultPort: Int) {
    guard let authority = try? Authority(authority[...]) else { return nil }
    guard let host = try? HostName(authority.host.unbracketedHost) else { return nil }
    self.host = host
    port = authority.port ?? defaultPort
  }

  /// The host and port, such as `a.example:443`.
  package var name: String { "\(host.text.bracketedHost):\(port)" }
}
