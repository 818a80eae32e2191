// SPDX-License-Identifier: Apache-2.0

/// Which proxy requests go through.
public enum ProxyOptions: Sendable, Hashable {
  /// `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and their upper-case forms, as curl reads them
  /// (`HTTP_PROXY` in upper case is ignored: a CGI request header can set it). Other than with
  /// curl, and as with Go, loopback hosts (`localhost` and names below it, 127.0.0.0/8, ::1) are reached straight: to a
  /// proxy elsewhere they mean the proxy itself, and what is sent to a service on this machine would leave it, over
  /// plain `http` with all credentials in it, because of a variable that was set for other hosts.
  case environment
  /// As ``environment``, with this list in place of `no_proxy` and of the loopback hosts: with an empty one those go
  /// through the proxy too.
  case environmentBypassing([String])
  /// Straight to the host.
  case none
  /// This proxy for every host that `bypass` does not name.
  ///
  /// The URL's scheme is `http` (also where none stands), `https`, `socks4`, `socks5` (both resolve here), `socks4a` or
  /// `socks5h` (the proxy resolves); it may carry user and password. Another URL fails the request with
  /// `request/invalid_option`. `bypass` follows `no_proxy`: names match themselves and their subdomains, `*` matches
  /// all, addresses may carry a prefix length, and a port behind an entry (`example.com:8443`, `[::1]:80`) limits it to
  /// that port. An element may hold several entries, separated by commas or white space.
  case url(String, bypass: [String] = [])
}
