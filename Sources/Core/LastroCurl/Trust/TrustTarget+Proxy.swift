// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

extension TrustTarget {
  /// Creates the target for the proxy that a URL names.
  init?(proxy url: String) {
    // The default port of https proxies in libcurl.
    self.init(authority: Self.proxyName(url), defaultPort: 443)
  }

  /// Returns the host and port in a proxy's URL, without user and password.
  static func proxyName(_ url: String) -> String {
    let authority = ForwardProxy.authority(of: url)
    return String(authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
  }
}
