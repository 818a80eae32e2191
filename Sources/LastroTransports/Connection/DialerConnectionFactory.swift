// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Connections to one endpoint over a `Dialer`: the innermost factory of a chain of transports, or a transport that is
/// itself a dialer.
///
/// Streams and datagrams, TLS and framers as the parameters say.
public struct DialerConnectionFactory: ConnectionFactory {
  private let endpoint: ConnectionEndpoint
  private let dialer: any Dialer

  /// Makes a factory.
  ///
  /// - Parameters:
  ///   - endpoint: where every connection leads.
  ///   - dialer: what connects.
  public init(to endpoint: ConnectionEndpoint, dialer: any Dialer) {
    self.endpoint = endpoint
    self.dialer = dialer
  }

  /// Makes a ``NetworkConnection``; never `nil`. What the dialer cannot do is told by state `failed`.
  public func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    NetworkConnection(to: endpoint, using: parameters, dialer: dialer)
  }
}

extension ConnectionFactory {
  /// A `Dialer` whose streams are the connections of this factory: so all that is put over a dialer (TLS, WebSocket,
  /// Gemini, proxies) runs over a transport.
  ///
  /// Where the streams lead is the factory's affair (Swift Transport API §1.2): host and port of a request are not sent
  /// anywhere. A request that asks for TLS fails with code `unsupported`: put TLS over the dialer instead.
  ///
  /// - Parameter parameters: for the factory's innermost connections; `connectTimeout` is each request's. Default: a
  ///   stream without TLS.
  public func dialer(using parameters: ConnectionParameters = .tcp) -> any Dialer {
    ConnectionFactoryDialer(self, using: parameters)
  }
}

extension Connection {
  /// A `ByteStream` over this connection, which must have been started and must have no other user.
  ///
  /// Messages are joined to a stream; every write is a message. Closing the stream cancels the connection, and so does
  /// dropping it.
  ///
  /// - Parameter facts: default: those of a ``NetworkConnection``, else none.
  public func byteStream(facts: StreamFacts? = nil) -> any ByteStream { ConnectionStream(over: self, facts: facts) }
}

/// A `Dialer` whose streams are the connections of a factory: so all that is put over a dialer (TLS, WebSocket, Gemini,
/// proxies) runs over a transport.
///
/// Where the streams lead is the factory's affair (Swift Transport API §1.2): host and port of a request are not sent
/// anywhere.
package struct ConnectionFactoryDialer: Dialer {
  private let factory: any ConnectionFactory
  private let parameters: ConnectionParameters

  /// Makes a dialer.
  ///
  /// - Parameters:
  ///   - factory: makes the connection of each dial.
  ///   - parameters: for the factory's innermost connections. Default: a stream without TLS.
  package init(_ factory: any ConnectionFactory, using parameters: ConnectionParameters = .tcp) {
    self.factory = factory
    self.parameters = parameters.copy()
  }

  /// Opens a stream: a new connection of the factory, ready.
  ///
  /// - Throws: `TransportError`; code `unsupported` where TLS is asked for: put TLS over this dialer instead.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    try request.refuseTLS()
    let parameters = parameters.copy()
    parameters.connectTimeout = request.connectTimeout
    do throws(ConnectionError) {
      return ConnectionStream(over: try await factory.open(using: parameters, within: request.connectTimeout))
    } catch {
      throw error.transportError
    }
  }
}

/// A `Dialer` over one connection: the first dial gets it, every other fails. A transport over it reports the loss of
/// the connection and cannot make another (Swift Transport API §1.2).
package final class SingleConnectionDialer: Dialer {
  private let connection: Lock<(any Connection)?>

  /// Makes a dialer.
  ///
  /// - Parameter connection: established, or not even started: then it is started by the dial. It must have no other
  ///   user.
  package init(_ connection: any Connection) { self.connection = Lock(connection) }

  /// Gives the connection out, the first time.
  ///
  /// It is waited for until it is ready where its state can be read (``NetworkConnection``); of others what is sent and
  /// received waits in the connection.
  ///
  /// - Throws: `TransportError`; code `connection_lost` the second time; `unsupported` where TLS is asked for: put TLS
  ///   over this dialer instead.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    try request.refuseTLS()
    let connection = connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
    guard let connection else {
      throw TransportError(
        stage: .connect, code: .connectionLost, message: "the transport has one connection, which is used up",
        hint: "give the transport a ConnectionFactory, which can make others")
    }
    do throws(ConnectionError) {
      try await connection.settle(within: request.connectTimeout)
    } catch {
      throw error.transportError
    }
    return ConnectionStream(over: connection)
  }
}

extension DialRequest {
  func refuseTLS() throws(TransportError) {
    guard tls != nil else { return }
    throw .refused(
      .unsupported, "a transport's connections cannot speak TLS with the host",
      hint: "put TLS over the dialer, or into the transport's own parameters")
  }
}
