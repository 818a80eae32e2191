// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroTunnels

/// An HTTP proxy as a pluggable transport (`HTTPConnectDialer`), without TLS of its own, constructed as the Swift
/// Transport API wants it (§1.2).
///
/// For parameters that ask for UDP, ``connect(using:)`` gives `nil`. What parameters ask for beyond (TLS, application
/// protocols), the innermost connection does.
public struct HTTPConnectConnectionFactory: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Makes a factory that reaches its server through a dialer.
  ///
  /// - Parameters:
  ///   - endpoint: where its connections lead: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - serverAddress: the HTTP proxy: likewise.
  ///   - credentials: user and password for it. Default none.
  ///   - dialer: reaches the HTTP proxy.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and for credentials that the protocol cannot carry.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil,
    dialer: any Dialer
  ) throws(ConfigurationError) {
    try self.init(
      to: endpoint, serverAddress: serverAddress, credentials: credentials,
      factory: DialerConnectionFactory(to: serverAddress, dialer: dialer))
  }

  /// Makes a factory over the connections of another, which lead to the HTTP proxy: one for each of its own.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil,
    factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: factory, Self.nest(serverAddress, credentials))
  }

  /// Makes a factory over one connection, which leads to the HTTP proxy. Its loss is final: every connection but the
  /// first fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil,
    connection: any Connection
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: connection, Self.nest(serverAddress, credentials))
  }

  /// Makes a connection through the HTTP proxy; `nil` for UDP, and for TLS in the parameters over one connection.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }

  private static func nest(
    _ address: ConnectionEndpoint, _ credentials: ProxyServer.Credentials?
  ) throws(ConfigurationError) -> NestedConnectionFactory.Nest {
    try NestedConnectionFactory.through(address, credentials) { proxy, below throws(ConfigurationError) in
      try HTTPConnectDialer(proxy: proxy, over: below)
    }
  }
}
