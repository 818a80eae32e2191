// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// Opens WebSockets over a `Dialer`.
///
/// The handshake is a fetch: it goes through the interceptors, the redirect policy, the time limits and the observers
/// of ``stack`` and of the resource, and secrets are masked as in a fetch. A 401 is retried where an authenticator says
/// so.
///
/// ```swift
/// let client = WebSocketClient(dialer: stack.dialer)
/// let socket = try await client.connect("wss://example.org/chat")
/// ```
public struct WebSocketClient: Sendable {
  /// The dialer that opens the streams.
  public let dialer: any Dialer
  /// How the sockets speak.
  public var configuration: WebSocketConfiguration
  /// How the handshakes are made. Of its timeouts, `StackConfiguration.timeouts` hold, for the handshake alone; its
  /// clock and its randomness are the sockets' too.
  public var stack: StackConfiguration

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - dialer: opens the streams.
  ///   - configuration: default: ``WebSocketConfiguration/init()``.
  ///   - stack: default: `StackConfiguration.init()`, which follows redirects, never from `wss` to `ws`.
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
  ///   - url: `ws`, `wss`, `http` or `https`, without a fragment.
  ///   - headers: more header fields of the handshake, such as `Origin`. Default none.
  /// - Throws: ``WebSocketError``: `handshake` with all that is known of it, `invalidArgument` for a configuration that
  ///   cannot be. A cancelled task gives the attempt up at once.
  @concurrent
  public func connect(_ url: String, headers: RawHeaders = [:]) async throws(WebSocketError) -> WebSocket {
    try await connect(
      to: RawHTTPResource(baseRequestMaking: .init { try WebSocketURL.request(url, headers: headers) }))
  }

  /// Opens a WebSocket with the request of a resource, through its interceptors.
  ///
  /// - Parameter resource: its request is a GET without a body, to `http` for `ws` and `https` for `wss`. Its
  ///   decodings: that of errors reads what a refusing server says.
  /// - Throws: as ``connect(_:headers:)``.
  @concurrent
  public func connect<Model, APIError>(
    to resource: HTTPResource<Model, APIError>
  ) async throws(WebSocketError) -> WebSocket {
    try configuration.check()
    let transport = WebSocketHandshakeTransport(
      dialer: dialer, configuration: configuration, random: stack.randomSource, time: stack.timeSource)
    let upgraded: Network.Value<(any ByteStream)?, ResourceResponse>
    do throws(HTTPFetchError<any Error>) {
      upgraded = try await TransportNetworkStack(transport: transport, configuration: stack).upgrade(resource)
    } catch {
      throw WebSocketError(handshake: error)
    }
    guard let stream = upgraded.value as? WebSocketStream else { throw .noStream }
    let core = WebSocketCore(
      stream, configuration: configuration, deflate: stream.agreement.deflate, random: stack.randomSource,
      time: stack.timeSource)
    core.start(leftover: [])
    return WebSocket(core, subprotocol: stream.agreement.subprotocol, response: upgraded.response)
  }
}
