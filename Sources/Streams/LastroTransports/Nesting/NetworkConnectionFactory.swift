// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A factory of connections to one endpoint: over the network, over a `Dialer`, or through a tunnel or a transform over
/// the connections of another factory.
///
/// Every tunnel that is a dialer becomes a pluggable transport (Swift Transport API §1.2):
///
/// ```swift
/// let factory = try NetworkConnectionFactory(to: endpoint, factory: base) { try SOCKS5Dialer(proxy: proxy, over: $0) }
/// let connection = factory.connect(using: .tcp)
/// ```
///
/// A transport that only transforms bytes needs no dialer of its own, but a ``StreamTransform``:
///
/// ```swift
/// struct Inverted: StreamTransform {
///   mutating func outgoing(_ data: Data) -> Data { Data(data.map { ~$0 }) }
///   mutating func incoming(_ data: Data) -> Data { Data(data.map { ~$0 }) }
/// }
/// let factory = NetworkConnectionFactory(factory: base) { Inverted() }
/// ```
public struct NetworkConnectionFactory: ConnectionFactory {
  /// A closure that puts a tunnel over a dialer.
  public typealias Nest = @Sendable (any Dialer) throws -> any Dialer

  private let make: @Sendable (ConnectionParameters) -> (any Connection)?

  /// Creates a factory whose connections the shared engine dials. Pluggable transports use it if they are given no
  /// factory.
  ///
  /// - Parameter endpoint: the destination of every connection.
  public init(to endpoint: ConnectionEndpoint) {
    make = { NetworkConnection(to: endpoint, using: $0) }
  }

  /// Creates a factory over a dialer. It is the innermost factory of a chain of transports, or a transport that is
  /// itself a dialer.
  ///
  /// - Parameters:
  ///   - endpoint: the destination of every connection.
  ///   - dialer: the dialer that connects.
  public init(to endpoint: ConnectionEndpoint, dialer: any Dialer) {
    make = { NetworkConnection(to: endpoint, using: $0, dialer: dialer) }
  }

  /// Creates a factory of a tunnel over the connections of another factory, which lead to the tunnel's server. Each
  /// connection uses one of them.
  ///
  /// The innermost connection applies the parameters of ``connect(using:)``.
  ///
  /// - Parameters:
  ///   - endpoint: the destination that the tunnel dials: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - tls: the TLS with `endpoint`. Default `nil`: that of `DialRequest.TLS()` if the outermost dialer is a
  ///     `TLSDialer`, otherwise none.
  ///   - factory: the factory whose connections lead to the tunnel's server.
  ///   - nest: puts the tunnel over a dialer; it is called for every connection, and once when the factory is created.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and if `nest` throws.
  public init(
    to endpoint: ConnectionEndpoint, tls: DialRequest.TLS? = nil, factory: any ConnectionFactory,
    nesting nest: @escaping Nest
  ) throws(ConfigurationError) {
    let nested = try NestedConnectionFactory(to: endpoint, tls: tls, over: factory, nest)
    make = { nested.connect(using: $0) }
  }

  /// Creates a factory of a tunnel over a single connection to the tunnel's server. That connection cannot be replaced:
  /// every connection of the factory but the first fails with code `connection_lost`.
  ///
  /// - Parameters:
  ///   - endpoint: the destination that the tunnel dials: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - tls: the TLS with `endpoint`. Default `nil`: that of `DialRequest.TLS()` if the outermost dialer is a
  ///     `TLSDialer`, otherwise none.
  ///   - connection: the connection to the tunnel's server.
  ///   - nest: puts the tunnel over a dialer.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and if `nest` throws.
  public init(
    to endpoint: ConnectionEndpoint, tls: DialRequest.TLS? = nil, connection: any Connection,
    nesting nest: @escaping Nest
  ) throws(ConfigurationError) {
    let nested = try NestedConnectionFactory(to: endpoint, tls: tls, over: connection, nest)
    make = { nested.connect(using: $0) }
  }

  /// Creates a factory of a transport that only transforms bytes, and connects to its server through a dialer.
  ///
  /// - Parameters:
  ///   - serverAddress: an IPv4 address, an IPv6 address or a name; any other endpoint fails with code `unsupported`
  ///     when a connection is started.
  ///   - dialer: the dialer that connects.
  ///   - transform: creates the transform of one connection.
  public init(
    to serverAddress: ConnectionEndpoint, dialer: any Dialer,
    transform: @escaping @Sendable () -> any StreamTransform
  ) {
    let transforming = TransformingConnectionFactory(to: serverAddress, dialer: dialer, transform: transform)
    make = { transforming.connect(using: $0) }
  }

  /// Creates a factory of a transport that only transforms bytes, over the connections of another factory, which gets
  /// the parameters unchanged.
  ///
  /// - Parameters:
  ///   - factory: the factory whose connections lead to the transport's server.
  ///   - transform: creates the transform of one connection.
  public init(factory: any ConnectionFactory, transform: @escaping @Sendable () -> any StreamTransform) {
    let transforming = TransformingConnectionFactory(over: factory, transform: transform)
    make = { transforming.connect(using: $0) }
  }

  /// Creates a factory of a transport that only transforms bytes, over a single connection. Its first connection uses
  /// that one; every other fails with code `connection_lost`, and so do connections with TLS, with code `unsupported`.
  ///
  /// - Parameters:
  ///   - connection: the connection to the transport's server.
  ///   - transform: creates the transform of one connection.
  public init(connection: any Connection, transform: @escaping @Sendable () -> any StreamTransform) {
    let transforming = TransformingConnectionFactory(over: connection, transform: transform)
    make = { transforming.connect(using: $0) }
  }

  /// Creates a ``NetworkConnection``, whose parameters select streams or datagrams, TLS and framers. A connection that
  /// cannot be dialed fails. Returns `nil` for datagrams through a tunnel or a transform, over a single connection of a
  /// tunnel for parameters with TLS, and if the closure that puts the tunnel over a dialer throws.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? { make(parameters) }
}
