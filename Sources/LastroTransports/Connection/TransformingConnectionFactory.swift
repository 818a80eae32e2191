// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a transport does to the bytes of one connection, in both directions.
///
/// One is made for each connection, so it may count and remember. `outgoing` and `incoming` are called each by one at a
/// time, never both at once.
public protocol StreamTransform: Sendable {
  /// What is sent when the connection begins, before anything else. Default: nothing.
  ///
  /// - Throws: why the connection cannot begin; it fails with that.
  mutating func opening() throws -> Data

  /// Bytes of the application, as they shall go over the wire.
  ///
  /// - Throws: why the bytes cannot be sent; the connection fails with that.
  mutating func outgoing(_ data: Data) throws -> Data

  /// Bytes from the wire, in pieces of any length, as the application shall see them: perhaps none, when more have to
  /// come first.
  ///
  /// - Throws: why the bytes are not the transport's; the connection fails with that.
  mutating func incoming(_ data: Data) throws -> Data

  /// The wire has ended: what is left for the application. Default: nothing. Throw where it ended within something.
  ///
  /// - Throws: that the wire ended within something; the connection fails with that.
  mutating func ending() throws -> Data
}

extension StreamTransform {
  /// The default: the transport sends nothing of its own first.
  public mutating func opening() throws -> Data { Data() }
  /// The default: nothing is left at the end.
  public mutating func ending() throws -> Data { Data() }

  /// A stream whose bytes this transform changes in both directions: for dialers of one's own.
  /// ``TransformingConnectionFactory`` makes whole transports.
  public func over(_ stream: any ByteStream) -> any ByteStream { TransformedStream(stream, self) }
}

/// A whole transport out of a ``StreamTransform``: a factory with the three ways of construction that the Swift
/// Transport API knows (§1.2).
///
/// ```swift
/// struct Inverted: StreamTransform {
///   mutating func outgoing(_ data: Data) -> Data { Data(data.map { ~$0 }) }
///   mutating func incoming(_ data: Data) -> Data { Data(data.map { ~$0 }) }
/// }
/// let factory = TransformingConnectionFactory(to: server, dialer: dialer) { Inverted() }
/// ```
///
/// Streams only: for parameters that ask for datagrams it returns `nil`, as the document says.
public struct TransformingConnectionFactory: ConnectionFactory {
  private enum Base: Sendable {
    case factory(any ConnectionFactory)
    case single(SingleConnectionDialer)
  }

  private let base: Base
  private let endpoint: ConnectionEndpoint
  private let makeTransform: @Sendable () -> any StreamTransform

  /// Makes a factory that connects to its server itself.
  ///
  /// - Parameters:
  ///   - serverAddress: IPv4 address, IPv6 address or name; anything else fails with code `unsupported` when a
  ///     connection is started.
  ///   - dialer: what connects.
  ///   - transform: makes the transform of one connection.
  public init(
    to serverAddress: ConnectionEndpoint, dialer: any Dialer,
    transform: @escaping @Sendable () -> any StreamTransform
  ) {
    base = .factory(ServerFactory(serverAddress: serverAddress, dialer: dialer))
    endpoint = .somewhere
    makeTransform = transform
  }

  /// Makes a factory over the connections of another, one for each of its own. The other gets the parameters as they
  /// are.
  public init(over factory: any ConnectionFactory, transform: @escaping @Sendable () -> any StreamTransform) {
    base = .factory(factory)
    endpoint = .somewhere
    makeTransform = transform
  }

  /// Makes a factory over one connection. Its first connection uses it; every other fails with code
  /// `connection_lost`.
  ///
  /// The connection exists already: TLS in the parameters of ``connect(using:)`` is refused with code `unsupported`,
  /// and the framers in them run on what the transport carries.
  public init(over connection: any Connection, transform: @escaping @Sendable () -> any StreamTransform) {
    base = .single(SingleConnectionDialer(connection))
    endpoint = .somewhere
    makeTransform = transform
  }

  /// Makes a connection; `nil` for datagrams.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    guard !parameters.isDatagrams else { return nil }
    // What the layer underneath can no longer do stays here: TLS is refused by the dialer, not left out.
    let (dialer, own): (any Dialer, ConnectionParameters) =
      switch base {
      case .factory(let factory): (ConnectionFactoryDialer(factory, using: parameters), parameters.withoutInnermost())
      case .single(let dialer): (dialer, parameters)
      }
    return NetworkConnection(
      to: endpoint, using: own, dialer: TransformingDialer(base: dialer, makeTransform: makeTransform))
  }
}

extension ConnectionParameters {
  /// For an outer connection: all but what the innermost one alone is to do.
  func withoutInnermost() -> ConnectionParameters {
    let outer = copy()
    outer.tls = nil
    outer.defaultProtocolStack.applicationProtocols = []
    return outer
  }
}

/// Connections to a transport's server, whose address is checked as the Swift Transport API wants it.
private struct ServerFactory: ConnectionFactory {
  let serverAddress: ConnectionEndpoint
  let dialer: any Dialer

  func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    NetworkConnection(to: serverAddress, using: parameters, dialer: CheckedDialer(base: dialer, address: serverAddress))
  }
}

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
