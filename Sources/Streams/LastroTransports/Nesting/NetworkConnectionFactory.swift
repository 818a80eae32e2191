// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroCurl
internal import LastroTunnels

/// A factory of connections to one endpoint: over the network, over a `Dialer`, or through a tunnel or a transform over
/// the connections of another factory.
///
/// Every tunnel that is a dialer becomes a pluggable transport (Swift Transport API §1.2):
///
/// ```swift
/// let factory = try NetworkConnectionFactory(to: endpoint, factory: base) {
///   try Tunnel.socks5(host: "proxy.example.org", port: 1080, over: $0)
/// }
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
  ///   - tls: the TLS with `endpoint`. Default `nil`: that of `DialRequest.TLS()` if the outermost dialer is one
  ///     of `addingTLS(connection:)`, otherwise none.
  ///   - factory: the factory whose connections lead to the tunnel's server.
  ///   - nest: puts the tunnel over a dialer; it is called for every connection, and once when the factory is created.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and if `nest` throws.
  public init(
    to endpoint: ConnectionEndpoint, tls: DialRequest.TLS? = nil, factory: any ConnectionFactory,
    nesting nest: @escaping Nest
  ) throws(ConfigurationError) {
    let tls = try Self.checked(endpoint, tls, nest)
    make = { parameters in
      guard !parameters.isDatagrams, let dialer = try? nest(ConnectionFactoryDialer(factory, using: parameters)) else {
        return nil
      }
      let outer = parameters.withoutInnermost()
      outer.tls = tls
      return NetworkConnection(to: endpoint, using: outer, dialer: dialer)
    }
  }

  /// Creates a factory of a tunnel over a single connection to the tunnel's server. That connection cannot be replaced:
  /// every connection of the factory but the first fails with code `connection_lost`.
  ///
  /// - Parameters:
  ///   - endpoint: the destination that the tunnel dials: an IPv4 address, an IPv6 address or a name, with a port.
  ///   - tls: the TLS with `endpoint`. Default `nil`: that of `DialRequest.TLS()` if the outermost dialer is one
  ///     of `addingTLS(connection:)`, otherwise none.
  ///   - connection: the connection to the tunnel's server.
  ///   - nest: puts the tunnel over a dialer.
  /// - Throws: `ConfigurationError` for any other kind of endpoint, and if `nest` throws.
  public init(
    to endpoint: ConnectionEndpoint, tls: DialRequest.TLS? = nil, connection: any Connection,
    nesting nest: @escaping Nest
  ) throws(ConfigurationError) {
    let tls = try Self.checked(endpoint, tls, nest)
    let single = SingleConnectionDialer(connection)
    make = { parameters in
      // The connection already exists and cannot add TLS. Refuse the parameters rather than ignore their TLS silently.
      guard !parameters.isDatagrams, parameters.tls == nil, let dialer = try? nest(single) else { return nil }
      let outer = parameters.copy()
      outer.tls = tls
      return NetworkConnection(to: endpoint, using: outer, dialer: dialer)
    }
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
    let checked = CheckedDialer(base: dialer, address: serverAddress)
    self.init(factory: NetworkConnectionFactory(to: serverAddress, dialer: checked), transform: transform)
  }

  /// Creates a factory of a transport that only transforms bytes, over the connections of another factory, which gets
  /// the parameters unchanged.
  ///
  /// - Parameters:
  ///   - factory: the factory whose connections lead to the transport's server.
  ///   - transform: creates the transform of one connection.
  public init(factory: any ConnectionFactory, transform: @escaping @Sendable () -> any StreamTransform) {
    make = { parameters in
      guard !parameters.isDatagrams else { return nil }
      let dialer = TransformingDialer(
        base: ConnectionFactoryDialer(factory, using: parameters), makeTransform: transform)
      return NetworkConnection(to: .somewhere, using: parameters.withoutInnermost(), dialer: dialer)
    }
  }

  /// Creates a factory of a transport that only transforms bytes, over a single connection. Its first connection uses
  /// that one; every other fails with code `connection_lost`, and so do connections with TLS, with code `unsupported`.
  ///
  /// - Parameters:
  ///   - connection: the connection to the transport's server.
  ///   - transform: creates the transform of one connection.
  public init(connection: any Connection, transform: @escaping @Sendable () -> any StreamTransform) {
    let dialer = TransformingDialer(base: SingleConnectionDialer(connection), makeTransform: transform)
    make = { parameters in
      // The connection already exists, so its parameters stay complete: the dialer refuses TLS instead of ignoring it.
      parameters.isDatagrams ? nil : NetworkConnection(to: .somewhere, using: parameters, dialer: dialer)
    }
  }

  /// Creates a ``NetworkConnection``, whose parameters select streams or datagrams, TLS and framers. A connection that
  /// cannot be dialed fails. Returns `nil` for datagrams through a tunnel or a transform, over a single connection of a
  /// tunnel for parameters with TLS, and if the closure that puts the tunnel over a dialer throws.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? { make(parameters) }

  /// Checks a tunnel, and returns the TLS with its endpoint.
  private static func checked(
    _ endpoint: ConnectionEndpoint, _ tls: DialRequest.TLS?, _ nest: Nest
  ) throws(ConfigurationError) -> DialRequest.TLS? {
    _ = try address(of: endpoint)
    let outermost: any Dialer
    do {
      outermost = try nest(NowhereDialer())
    } catch {
      throw (error as? ConfigurationError) ?? ConfigurationError("the tunnel cannot be created: \(error)")
    }
    // A `TLSDialer` passes a request without TLS on in plaintext, which would be an unnoticed loss of security.
    return tls ?? (outermost is TLSDialer ? DialRequest.TLS() : nil)
  }

  /// Returns the host and port of a `serverAddress`.
  static func address(of endpoint: ConnectionEndpoint) throws(ConfigurationError) -> (host: String, port: Int) {
    do throws(ConnectionError) {
      return try endpoint.serverAddress()
    } catch {
      throw ConfigurationError(error.transportError.message, hint: error.transportError.hint)
    }
  }
}

extension ConnectionParameters {
  /// Returns the parameters of an outer connection, without those that only the innermost connection applies.
  func withoutInnermost() -> ConnectionParameters {
    let outer = copy()
    outer.tls = nil
    outer.defaultProtocolStack.applicationProtocols = []
    return outer
  }
}

/// A dialer that checks the address of a transport's server, as the Swift Transport API requires.
private struct CheckedDialer: Dialer {
  let base: any Dialer
  let address: ConnectionEndpoint

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    do throws(ConnectionError) {
      _ = try address.serverAddress()
    } catch {
      throw error.transportError
    }
    return try await base.dial(request)
  }
}

private struct TransformingDialer: Dialer {
  let base: any Dialer
  let makeTransform: @Sendable () -> any StreamTransform

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let stream = TransformedStream(try await base.dial(request), makeTransform())
    try await stream.open(within: request.connectTimeout)
    return stream
  }
}
