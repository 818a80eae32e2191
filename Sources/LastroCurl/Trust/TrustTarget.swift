// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The host and port that a TLS connection is made to.
struct TrustTarget: Hashable {
  var host: HostName
  var port: Int

  init(host: HostName, port: Int) {
    self.host = host
    self.port = port
  }

  init?(authority: String, defaultPort: Int) {
    guard let authority = try? Authority(authority[...]) else { return nil }
    guard let host = try? HostName(authority.host.unbracketedHost) else { return nil }
    self.host = host
    port = authority.port ?? defaultPort
  }

  /// The proxy that a URL names.
  init?(proxy url: String) {
    // libcurl's default for https proxies.
    self.init(authority: Self.proxyName(url), defaultPort: 443)
  }

  /// Host and port, as a proxy's URL has them, without user and password.
  static func proxyName(_ url: String) -> String {
    let afterScheme = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
    let authority = afterScheme.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    return String(authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
  }

  /// `a.example:443`.
  var name: String { "\(host.text.bracketedHost):\(port)" }
}
