// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

extension ConnectionFactory {
  /// Returns a `Dialer` whose streams are the connections of this factory. Everything that runs over a dialer (TLS,
  /// WebSocket, Gemini, proxies) can thus run over a transport.
  ///
  /// The factory determines the destination of the streams (Swift Transport API §1.2): the host and port of a request
  /// are not sent anywhere. A request for TLS fails with code `unsupported`: put TLS over the dialer instead.
  ///
  /// - Parameter parameters: the parameters of the factory's innermost connections; each request replaces
  ///   `connectTimeout`. Default: a stream without TLS.
  public func dialer(using parameters: ConnectionParameters = .tcp) -> any Dialer {
    ConnectionFactoryDialer(self, using: parameters)
  }
}

extension Connection {
  /// Returns a `ByteStream` over this connection, which must have been started and must have no other user.
  ///
  /// Messages are concatenated into a stream, and every write becomes a message. Closing or dropping the stream cancels
  /// the connection.
  ///
  /// - Parameter facts: the facts to report. Default: those of a ``NetworkConnection``, else none.
  public func byteStream(facts: StreamFacts? = nil) -> any ByteStream { ConnectionStream(over: self, facts: facts) }
}

/// A `Dialer` whose streams are the connections of a factory. Everything that runs over a dialer (TLS, WebSocket,
/// Gemini, proxies) can thus run over a transport.
///
/// The factory determines the destination of the streams (Swift Transport API §1.2): the host and port of a request are
/// not sent anywhere.
package struct ConnectionFactoryDialer: Dialer {
  private let factory: any ConnectionFactory
  private let parameters: ConnectionParameters

  /// Creates a dialer.
  ///
  /// - Parameters:
  ///   - factory: creates the connection of each dial.
  ///   - parameters: the parameters of the factory's innermost connections. Default: a stream without TLS.
  package init(_ factory: any ConnectionFactory, using parameters: ConnectionParameters = .tcp) {
    self.factory = factory
    self.parameters = parameters.copy()
  }

  /// Opens a stream over a new, ready connection of the factory.
  ///
  /// - Throws: `TransportError`; code `unsupported` if the request asks for TLS: put TLS over this dialer instead.
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

/// A `Dialer` over a single connection: the first dial gets it, and every other dial fails. A transport over it reports
/// the loss of the connection and cannot make another (Swift Transport API §1.2).
package final class SingleConnectionDialer: Dialer {
  private let connection: Lock<(any Connection)?>

  /// Creates a dialer.
  ///
  /// - Parameter connection: an established connection, or one that was not started, which the dial then starts. It
  ///   must have no other user.
  package init(_ connection: any Connection) { self.connection = Lock(connection) }

  /// Returns a stream over the connection on the first call.
  ///
  /// The call waits until a ``NetworkConnection`` is ready. The state of other connections cannot be read; their sends
  /// and receives wait in the connection.
  ///
  /// - Throws: `TransportError`; code `connection_lost` on the second call; `unsupported` if the request asks for TLS:
  ///   put TLS over this dialer instead.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    try request.refuseTLS()
    let connection = connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
    guard let connection else {
      throw TransportError(
        stage: .connect, code: .connectionLost, message: "the transport has one connection, which is already used",
        hint: "give the transport a ConnectionFactory, which can make more")
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
      .unsupported, "a transport's connections cannot use TLS with the host",
      hint: "put TLS over the dialer, or into the transport's own parameters")
  }
}
