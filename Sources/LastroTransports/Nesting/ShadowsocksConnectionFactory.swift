// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroTunnels

/// Shadowsocks as a pluggable transport (`ShadowsocksDialer`), constructed as the Swift Transport API wants it (§1.2).
///
/// For parameters that ask for UDP, ``connect(using:)`` gives `nil`. What parameters ask for beyond (TLS, application
/// protocols), the innermost connection does.
///
/// ```swift
/// let factory = try ShadowsocksConnectionFactory(
///   to: echo, serverAddress: server, method: .aes256GCM, password: password, factory: tcp)
/// let connection = factory.connect(using: .tcp)
/// ```
public struct ShadowsocksConnectionFactory: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Makes a factory that reaches its server through a dialer.
  ///
  /// - Parameters:
  ///   - endpoint: where its connections lead: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - serverAddress: the Shadowsocks server: likewise.
  ///   - method: how bytes are sealed; the server's.
  ///   - password: the server's.
  ///   - dialer: reaches the Shadowsocks server.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, for an empty password, and where libcrypto refuses
  ///   what Shadowsocks needs.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret, dialer: any Dialer
  ) throws(ConfigurationError) {
    try self.init(
      to: endpoint, serverAddress: serverAddress, method: method, password: password,
      factory: DialerConnectionFactory(to: serverAddress, dialer: dialer))
  }

  /// Makes a factory over the connections of another, which lead to the Shadowsocks server: one for each of its own.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret, factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: factory, Self.nest(serverAddress, method, password))
  }

  /// Makes a factory over one connection, which leads to the Shadowsocks server. Its loss is final: every connection
  /// but the first fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret, connection: any Connection
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: connection, Self.nest(serverAddress, method, password))
  }

  /// Makes a connection through the Shadowsocks server; `nil` for UDP, and for TLS in the parameters over one
  /// connection.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }

  private static func nest(
    _ address: ConnectionEndpoint, _ method: ShadowsocksServer.Method, _ password: Secret
  ) throws(ConfigurationError) -> NestedConnectionFactory.Nest {
    let (host, port) = try NestedConnectionFactory.address(of: address)
    let server = try ShadowsocksServer(host: host, port: port, method: method, password: password)
    return { below in ShadowsocksDialer(server, over: below) }
  }
}
