// SPDX-License-Identifier: Apache-2.0

/// Which proxy requests go through.
public enum ProxyOptions: Sendable, Hashable {
  /// `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and their upper-case forms, as curl reads them
  /// (`HTTP_PROXY` in upper case is ignored: a CGI request header can set it).
  case environment
  /// As ``environment``, with this list in place of `no_proxy`.
  case environmentBypassing([String])
  /// Straight to the host.
  case none
  /// This proxy for every host that `bypass` does not name.
  ///
  /// The URL's scheme is `http`, `https`, `socks5` (resolves here) or `socks5h` (the proxy resolves); it may carry
  /// user and password. `bypass` follows `no_proxy`: names match themselves and their subdomains, `*` matches all,
  /// addresses may carry a prefix length.
  case url(String, bypass: [String] = [])
}
