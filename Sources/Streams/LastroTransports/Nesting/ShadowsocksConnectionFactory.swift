// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroTunnels

/// Shadowsocks as a pluggable transport (`ShadowsocksDialer`), with the initialisers that the Swift Transport API
/// defines (§1.2).
///
/// For parameters that ask for UDP, ``connect(using:)`` returns `nil`. The innermost connection applies all other
/// parameters (TLS, application protocols).
///
/// ```swift
/// let factory = try ShadowsocksConnectionFactory(
///   to: echo, serverAddress: server, method: .aes256GCM, password: password, factory: tcp)
/// let connection = factory.connect(using: .tcp)
/// ```
public struct ShadowsocksConnectionFactory: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Creates a factory that reaches its server through a dialer.
  ///
  /// - Parameters:
  ///   - endpoint: the destination of its connections: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - serverAddress: the Shadowsocks server, in the same form.
  ///   - method: the encryption method of the server.
  ///   - password: the password of the server.
  ///   - dialer: the dialer that reaches the Shadowsocks server.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, for an empty password, and if libcrypto does not
  ///   support the algorithms of Shadowsocks.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret, dialer: any Dialer
  ) throws(ConfigurationError) {
    try self.init(
      to: endpoint, serverAddress: serverAddress, method: method, password: password,
      factory: DialerConnectionFactory(to: serverAddress, dialer: dialer))
  }

  /// Creates a factory over the connections of another factory, which lead to the Shadowsocks server. Each connection
  /// uses one of them.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret, factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: factory, Self.nest(serverAddress, method, password))
  }

  /// Creates a factory over a single connection to the Shadowsocks server. That connection cannot be replaced: every
  /// connection of the factory but the first fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, method: ShadowsocksServer.Method,
    password: Secret, connection: any Connection
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: connection, Self.nest(serverAddress, method, password))
  }

  /// Creates a connection through the Shadowsocks server; returns `nil` for UDP, and over a single connection for
  /// parameters with TLS.
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
