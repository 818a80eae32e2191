// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroTunnels

/// A SOCKS 5 proxy as a pluggable transport (`SOCKS5Dialer`).
public typealias SOCKS5ConnectionFactory = ProxyConnectionFactory<SOCKS5Dialer>

/// An HTTP proxy as a pluggable transport (`HTTPConnectDialer`), without TLS of its own.
public typealias HTTPConnectConnectionFactory = ProxyConnectionFactory<HTTPConnectDialer>

/// A proxy as a pluggable transport, with the initialisers that the Swift Transport API defines (§1.2).
///
/// For parameters that ask for UDP, ``connect(using:)`` returns `nil`. The innermost connection applies all other
/// parameters (TLS, application protocols).
public struct ProxyConnectionFactory<Proxy: ProxyDialer>: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Creates a factory that reaches its proxy through a dialer.
  ///
  /// - Parameters:
  ///   - endpoint: the destination of its connections: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - serverAddress: the proxy, in the same form.
  ///   - credentials: the user and password for the proxy. Default: none.
  ///   - dialer: the dialer that reaches the proxy.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and for credentials that the protocol cannot carry.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil,
    dialer: any Dialer
  ) throws(ConfigurationError) {
    try self.init(
      to: endpoint, serverAddress: serverAddress, credentials: credentials,
      factory: DialerConnectionFactory(to: serverAddress, dialer: dialer))
  }

  /// Creates a factory over the connections of another factory, which lead to the proxy. Each connection uses one
  /// of them.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil,
    factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: factory, Self.nest(serverAddress, credentials))
  }

  /// Creates a factory over a single connection to the proxy. That connection cannot be replaced: every connection
  /// of the factory but the first fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    to endpoint: ConnectionEndpoint, serverAddress: ConnectionEndpoint, credentials: ProxyServer.Credentials? = nil,
    connection: any Connection
  ) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: endpoint, over: connection, Self.nest(serverAddress, credentials))
  }

  /// Creates a connection through the proxy; returns `nil` for UDP, and over a single connection for parameters
  /// with TLS.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }

  private static func nest(
    _ address: ConnectionEndpoint, _ credentials: ProxyServer.Credentials?
  ) throws(ConfigurationError) -> NestedConnectionFactory.Nest {
    try NestedConnectionFactory.through(address, credentials) { proxy, below throws(ConfigurationError) in
      try Proxy(proxy: proxy, over: below)
    }
  }
}
