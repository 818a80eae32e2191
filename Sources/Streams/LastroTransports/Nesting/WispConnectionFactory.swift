// SPDX-License-Identifier: Apache-2.0

public import Lastro
package import LastroTunnels

/// obfs4 as a pluggable transport (`Tunnel.wisp`), with the initialisers that the Swift Transport API defines for Wisp
/// (§1.2).
///
/// The obfs4 server determines the destination of its connections. For parameters that ask for UDP, ``connect(using:)``
/// returns `nil`. The innermost connection applies all other parameters (TLS, application protocols).
///
/// ```swift
/// let factory = try WispConnectionFactory(serverAddress: bridge, cert: "AQID…cg", iatMode: false, factory: tcp)
/// let connection = factory.connect(using: .tcp)
/// ```
public struct WispConnectionFactory: ConnectionFactory {
  private let nested: NetworkConnectionFactory

  /// Creates a factory over the connections of another factory, which lead to the obfs4 server. Each connection uses
  /// one of them.
  ///
  /// - Parameters:
  ///   - serverAddress: the obfs4 server: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - cert: the certificate of the server, with or without a trailing `==`.
  ///   - iatMode: whether writes are split and delayed: true is mode 1, false is mode 0.
  ///   - factory: the factory whose connections lead to the obfs4 server.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and for a certificate that is not valid.
  public init(
    serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, factory: any ConnectionFactory
  ) throws(ConfigurationError) {
    try self.init(to: Self.server(serverAddress, cert, iatMode), factory: factory)
  }

  /// Creates a factory over a single connection to the obfs4 server. That connection cannot be replaced: every
  /// connection of the factory but the first fails with code `connection_lost`.
  ///
  /// - Throws: `ConfigurationError`, as above.
  public init(
    serverAddress: ConnectionEndpoint, cert: String, iatMode: Bool, connection: any Connection
  ) throws(ConfigurationError) {
    let server = try Self.server(serverAddress, cert, iatMode)
    nested = try NetworkConnectionFactory(to: .somewhere, connection: connection) { WispDialer(server, over: $0) }
  }

  /// Creates a factory over the connections of another factory, with any mode of the server: the Boolean `iatMode` of
  /// the specification cannot express mode 2.
  ///
  /// - Parameters:
  ///   - server: the address, certificate and mode of the obfs4 server.
  ///   - factory: the factory whose connections lead to the obfs4 server.
  /// - Throws: `ConfigurationError`, as above.
  package init(to server: WispServer, factory: any ConnectionFactory) throws(ConfigurationError) {
    nested = try NetworkConnectionFactory(to: .somewhere, factory: factory) { WispDialer(server, over: $0) }
  }

  /// Creates a connection through the obfs4 server. Returns `nil` for UDP. A factory over a single connection also
  /// returns `nil` for parameters with TLS.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    nested.connect(using: parameters)
  }

  private static func server(
    _ address: ConnectionEndpoint, _ cert: String, _ iatMode: Bool
  ) throws(ConfigurationError) -> WispServer {
    let (host, port) = try NetworkConnectionFactory.address(of: address)
    return try WispServer(host: host, port: port, certificate: Secret(cert), mode: iatMode ? .paused : .immediate)
  }
}
