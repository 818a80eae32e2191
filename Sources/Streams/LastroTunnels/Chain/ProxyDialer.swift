// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A dialer through one proxy, which another dialer reaches.
public protocol ProxyDialer: Dialer {
  /// Creates a tunnel; the proxy is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - proxy: the proxy.
  ///   - below: the dialer that reaches the proxy: directly, or through another tunnel.
  /// - Throws: `ConfigurationError` for credentials that the protocol cannot carry.
  init(proxy: ProxyServer, over below: any Dialer) throws(ConfigurationError)
}

extension SOCKS5Dialer: ProxyDialer {}

extension HTTPConnectDialer: ProxyDialer {
  /// Creates a tunnel through a proxy without TLS; the proxy is first contacted by the first dial.
  ///
  /// - Throws: `ConfigurationError` for credentials that Basic cannot carry: a user with a colon, or control
  ///   characters.
  public init(proxy: ProxyServer, over below: any Dialer) throws(ConfigurationError) {
    try self.init(proxy: proxy, tls: nil, over: below)
  }
}
