// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro

/// A transport built from a ``StreamTransform``, behind the initializers of ``NetworkConnectionFactory`` with a
/// `transform:`.
package struct TransformingConnectionFactory: ConnectionFactory {
  private enum Base: Sendable {
    case factory(any ConnectionFactory)
    case single(SingleConnectionDialer)
  }

  private let base: Base
  private let endpoint: ConnectionEndpoint
  private let makeTransform: @Sendable () -> any StreamTransform

  /// Creates a factory that connects to its server itself.
  ///
  /// - Parameters:
  ///   - serverAddress: an IPv4 address, an IPv6 address or a name; any other endpoint fails with code `unsupported`
  ///     when a connection is started.
  ///   - dialer: the dialer that connects.
  ///   - transform: creates the transform of one connection.
  package init(
    to serverAddress: ConnectionEndpoint, dialer: any Dialer,
    transform: @escaping @Sendable () -> any StreamTransform
  ) {
    base = .factory(ServerFactory(serverAddress: serverAddress, dialer: dialer))
    endpoint = .somewhere
    makeTransform = transform
  }

  /// Creates a factory over the connections of another factory. Each connection runs over a connection of
  /// that factory, which gets the parameters unchanged.
  package init(over factory: any ConnectionFactory, transform: @escaping @Sendable () -> any StreamTransform) {
    base = .factory(factory)
    endpoint = .somewhere
    makeTransform = transform
  }

  /// Creates a factory over a single connection. Its first connection uses that one; every other fails with code
  /// `connection_lost`.
  ///
  /// Because the connection already exists, TLS in the parameters of ``connect(using:)`` is refused with code
  /// `unsupported`. Framers in them run on the bytes that the transport carries.
  package init(over connection: any Connection, transform: @escaping @Sendable () -> any StreamTransform) {
    base = .single(SingleConnectionDialer(connection))
    endpoint = .somewhere
    makeTransform = transform
  }

  /// Creates a connection; returns `nil` for datagrams.
  package func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    guard !parameters.isDatagrams else { return nil }
    // A single connection already exists, so its parameters stay complete: the dialer refuses TLS instead of ignoring
    // it.
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
  /// Returns the parameters of an outer connection, without those that only the innermost connection applies.
  func withoutInnermost() -> ConnectionParameters {
    let outer = copy()
    outer.tls = nil
    outer.defaultProtocolStack.applicationProtocols = []
    return outer
  }
}

/// A factory of connections to a transport's server, which checks the address as the Swift Transport API requires.
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
