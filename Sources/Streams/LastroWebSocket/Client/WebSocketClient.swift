// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// A client that opens WebSockets over a `Dialer`.
///
/// The handshake is a fetch: it uses the interceptors, the redirect policy, the time limits and the observers of the
/// client's `StackConfiguration` and of the resource, and secrets are masked as in a fetch. A 401 is retried if an
/// authenticator requests it.
///
/// ```swift
/// let client = WebSocketClient(dialer: stack.dialer)
/// let socket = try await client.connect("wss://example.org/chat")
/// ```
public struct WebSocketClient: Sendable {
  /// The dialer that opens the streams.
  package let dialer: any Dialer
  /// The configuration of the sockets.
  package var configuration: WebSocketConfiguration
  /// The configuration of the handshakes.
  package var stack: StackConfiguration

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - dialer: the dialer that opens the streams.
  ///   - configuration: the configuration of the sockets. Default: ``WebSocketConfiguration/init()``.
  ///   - stack: the configuration of the handshakes. Only its `StackConfiguration.timeouts` apply, and only to the
  ///     handshake; the sockets also use its clock and its source of randomness. Default: `StackConfiguration.init()`,
  ///     which follows redirects, but never from `wss` to `ws`.
  public init(
    dialer: any Dialer, configuration: WebSocketConfiguration = WebSocketConfiguration(),
    stack: StackConfiguration = StackConfiguration()
  ) {
    self.dialer = dialer
    self.configuration = configuration
    self.stack = stack
  }

  /// Opens a WebSocket.
  ///
  /// - Parameters:
  ///   - url: a `ws`, `wss`, `http` or `https` URL without a fragment.
  ///   - headers: additional header fields of the handshake, such as `Origin`. Default: none.
  /// - Throws: ``WebSocketError``: `handshake` with all details; `invalidArgument` for an invalid configuration.
  ///   Cancelling the task abandons the attempt at once.
  @concurrent
  public func connect(_ url: String, headers: RawHeaders = [:]) async throws(WebSocketError) -> WebSocket {
    try await connect(
      to: RawHTTPResource(baseRequestMaking: .init { try WebSocketURL.request(url, headers: headers) }))
  }

  /// Opens a WebSocket with the request of a resource, through its interceptors.
  ///
  /// - Parameter resource: its request must be a GET without a body, to `http` for `ws` and `https` for `wss`. Its
  ///   error decoding reads the response of a server that refuses.
  /// - Throws: the same errors as ``connect(_:headers:)``.
  @concurrent
  public func connect<Model, APIError>(
    to resource: HTTPResource<Model, APIError>
  ) async throws(WebSocketError) -> WebSocket {
    try configuration.check()
    let transport = WebSocketHandshakeTransport(
      dialer: dialer, configuration: configuration, random: stack.randomSource, time: stack.timeSource)
    let upgraded: Fetched<(any ByteStream)?, ResourceResponse>
    do throws(HTTPFetchError<any Error>) {
      upgraded = try await TransportNetworkStack(transport: transport, configuration: stack).upgrade(resource)
    } catch {
      throw WebSocketError(handshake: error)
    }
    guard let stream = upgraded.value as? WebSocketStream else { throw .noStream }
    let core = WebSocketCore(
      stream, configuration: configuration, deflate: stream.agreement.deflate, random: stack.randomSource,
      time: stack.timeSource)
    core.start()
    return WebSocket(core, subprotocol: stream.agreement.subprotocol, response: upgraded.response)
  }
}
