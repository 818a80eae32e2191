// SPDX-License-Identifier: Apache-2.0

public import Lastro
public import LastroTunnels

/// obfs4 as a pluggable transport (`WispDialer`), constructed as the Swift Transport API wants its Wisp (§1.2).
///
/// Its connections lead where the obfs4 server leads. For parameters that ask for UDP, ``connect(using:)`` gives `nil`.
/// What parameters ask for beyond (TLS, application protocols), the innermost connection does.
///
/// ```swift
/// let factory = try WispConnectionFactory(serverAddress: bridge, cert: "AQID…cg", iatMode: false, factory: tcp)
/// let connection = factory.connect(using: .tcp)
/// ```
public struct WispConnectionFactory: ConnectionFactory {
  private let nested: NestedConnectionFactory

  /// Makes a factory that reaches its server through a dialer.
  ///
  /// - Parameters:
  ///   - serverAddress: the obfs4 server: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - cert: its certificate, without or with `==` at its end.
  ///   - iatMode: whether writes are cut and timed: true is mode 1, false is mode 0.
  ///   - dialer: reaches the obfs4 server.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and for a certificate that is not valid.
  public init(
    serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, dialer: any Dialer
  ) throws(ConfigurationError) {
    try self.init(
      serverAddress: serverAddress, cert: cert, iatMode: iatMode,
      factory: DialerConnectionFactory(to: serverAddress, dialer: dialer))
  }

  /// Makes a factory over the connections of another, which lead to the obfs4 server: one for each of its own.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    try self.init(to: Self.server(serverAddress, cert, iatMode), factory: factory)
  }

  /// Makes a factory over one connection, which leads to the obfs4 server. Its loss is final: every connection but the
  /// first fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, connection: any Connection
  ) throws(ConfigurationError) {
    try self.init(to: Self.server(serverAddress, cert, iatMode), connection: connection)
  }

  /// Makes a factory over the connections of another, with any mode: the document's Boolean has no word for mode 2.
  ///
  /// - Parameters:
  ///   - server: the obfs4 server: address, certificate and mode.
  ///   - factory: its connections lead to the obfs4 server.
  /// - Throws: `ConfigurationError`, as above.
  public init(to server: WispServer, factory: any ConnectionFactory) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: .somewhere, over: factory) { WispDialer(server, over: $0) }
  }

  /// Makes a factory over one connection, with any mode.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(to server: WispServer, connection: any Connection) throws(ConfigurationError) {
    nested = try NestedConnectionFactory(to: .somewhere, over: connection) { WispDialer(server, over: $0) }
  }

  /// Makes a factory that reaches its server through a dialer, with any mode.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(to server: WispServer, dialer: any Dialer) throws(ConfigurationError) {
    let address = ConnectionEndpoint.hostPort(
      host: .init(server.host), port: .init(integerLiteral: UInt16(clamping: server.port)))
    try self.init(to: server, factory: DialerConnectionFactory(to: address, dialer: dialer))
  }

  /// Makes a connection through the obfs4 server; `nil` for UDP, and for TLS in the parameters over one connection.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }

  private static func server(
    _ address: ConnectionEndpoint, _ cert: String, _ iatMode: Bool
  ) throws(ConfigurationError) -> WispServer {
    let (host, port) = try NestedConnectionFactory.address(of: address)
    return try WispServer(host: host, port: port, certificate: Secret(cert), mode: iatMode ? .paused : .immediate)
  }
}
