// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroCurl
public import LastroTunnels

extension ProxyConnectionFactory {
  /// Makes a factory that reaches its proxy by the shared engine.
  ///
  /// - Throws: `ConfigurationError`, as the other forms do.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil
  ) throws(ConfigurationError) {
    try self.init(to: endpoint, serverAddress: serverAddress, credentials: credentials, dialer: CurlDialer.shared)
  }
}

extension MeekConnectionFactory {
  /// Makes a factory whose requests a stack of its own makes, of the default configuration.
  ///
  /// - Throws: `ConfigurationError`, as the other forms do, and when there is no thread or descriptor left for the
  ///   stack.
  public init(to: URL, serverURL: URL) throws(ConfigurationError) {
    try self.init(to: to, serverURL: serverURL, stack: CurlNetworkStack())
  }
}

extension WispConnectionFactory {
  /// Makes a factory that reaches its server by the shared engine.
  ///
  /// - Throws: `ConfigurationError`, as the other forms do.
  public init(serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool) throws(ConfigurationError) {
    try self.init(serverAddress: serverAddress, cert: cert, iatMode: iatMode, dialer: CurlDialer.shared)
  }

  /// Makes a factory that reaches its server by the shared engine, with any mode.
  ///
  /// - Throws: `ConfigurationError`, as the other forms do.
  public init(to server: WispServer) throws(ConfigurationError) {
    try self.init(to: server, dialer: CurlDialer.shared)
  }
}

extension ShadowsocksConnectionFactory {
  /// Makes a factory that reaches its server by the shared engine.
  ///
  /// - Throws: `ConfigurationError`, as the other forms do.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret
  ) throws(ConfigurationError) {
    try self.init(
      to: endpoint, serverAddress: serverAddress, method: method, password: password, dialer: CurlDialer.shared)
  }
}
