// SPDX-License-Identifier: Apache-2.0

/// The choice of the proxy that requests are sent through.
public enum ProxyOptions: Sendable, Hashable {
  /// The proxy from `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and their upper-case forms, as curl reads them
  /// (`HTTP_PROXY` in upper case is ignored, because a CGI request header can set it). Unlike curl, and like Go,
  /// loopback hosts (`localhost` and names below it, 127.0.0.0/8, ::1) are connected to directly. To a proxy on another
  /// machine, such a host means the proxy itself. A request to a service on this machine would leave it, over plain
  /// `http` and with all credentials, because of a variable that was set for other hosts.
  case environment
  /// Like ``environment``, but with this list in place of `no_proxy` and of the loopback hosts. With an empty list,
  /// requests to loopback hosts are sent through the proxy too.
  case environmentBypassing([String])
  /// No proxy: connects directly to the host.
  case none
  /// This proxy, for every host that `bypass` does not match.
  ///
  /// The URL's scheme is `http` (the default), `https`, `socks4`, `socks5` (both resolve names locally), `socks4a` or
  /// `socks5h` (the proxy resolves names). The URL may contain user and password. An invalid URL fails the request with
  /// `request/invalid_option`. `bypass` follows `no_proxy`: names match themselves and their subdomains, `*` matches
  /// all hosts, and addresses may have a prefix length. A port after an entry (`example.com:8443`, `[::1]:80`) limits
  /// the entry to that port. An element may contain several entries, separated by commas or white space.
  case url(String, bypass: [String] = [])
}
