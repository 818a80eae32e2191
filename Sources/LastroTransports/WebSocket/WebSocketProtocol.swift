// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import Lastro
internal import LastroSupport
public import LastroWebSocket

/// WebSocket as an application protocol under a ``Connection``; Network framework's `NWProtocolWebSocket`.
///
/// ```swift
/// let connection = NetworkConnection(to: .url(url), using: .webSocket, dialer: CurlDialer.shared)
/// let metadata = WebSocketProtocol.Metadata(opcode: .text)
/// let context = ConnectionContentContext(identifier: "text", metadata: [metadata])
/// ```
///
/// The handshake's path and `Host` come from a URL endpoint, or from ``Options/url``. It knows no interceptors,
/// redirects and compression: for those there is `WebSocketClient`. Messages come whole, each with its ``Metadata`` in
/// the context. When the connection is cancelled, a Close frame is sent, and the server's is waited for.
public enum WebSocketProtocol {
  /// The key of the metadata.
  public static let definition = ProtocolDefinition(implementation: WebSocketFramer.self)

  /// What a frame is (RFC 6455 §5.2).
  public enum Opcode: Sendable, Hashable {
    /// The next piece of a message.
    case cont
    /// UTF-8 text.
    case text
    /// Bytes.
    case binary
    /// The end; its bytes are the reason.
    case close
    /// A ping.
    case ping
    /// A pong.
    case pong
  }

  /// How it behaves. A value: a connection has the options that its parameters had.
  public struct Options: ProtocolOptions {
    /// Names the protocol.
    public var definition: ProtocolDefinition { WebSocketProtocol.definition }
    /// Whether pings are answered by themselves; then they are not delivered. Default false, as with Network framework.
    public var autoReplyPing = false
    /// Most bytes of a message that comes in. Default 1 MiB. Larger ones end the connection.
    public var maximumMessageSize = 1 << 20
    /// More header fields of the handshake. Default none.
    public var additionalHeaders = RawHeaders()
    /// Subprotocols to offer. Default none.
    public var subprotocols: [String] = []
    /// What the handshake asks for, such as `ws://example.org/chat`. Default `nil`: the endpoint's URL, else `/` of its
    /// host.
    public var url: String?

    /// Makes the default options.
    public init() {}
  }

  /// What belongs to one message, in its context.
  public final class Metadata: ProtocolMetadata {
    private struct State {
      var closeCode = WebSocketCloseCode.normal
      var pongHandler: PongHandler?
    }

    struct PongHandler: Sendable {
      var queue: DispatchQueue
      var handler: @Sendable (ConnectionError?) -> Void

      func callAsFunction(_ error: ConnectionError?) { queue.async { [handler] in handler(error) } }
    }

    /// Names the protocol.
    public var definition: ProtocolDefinition { WebSocketProtocol.definition }
    /// What the frame is.
    public let opcode: Opcode
    private let state = Lock(State())

    /// Makes metadata for a message to send.
    public init(opcode: Opcode) { self.opcode = opcode }

    /// Code of a Close frame: the one to send, default 1000, or the one that came. One that came without is 1005.
    public var closeCode: WebSocketCloseCode {
      get { state.withLock { $0.closeCode } }
      set { state.withLock { $0.closeCode = newValue } }
    }

    /// Sets what is called, once, when the pong for this ping has come, or the connection has ended before.
    public func setPongHandler(_ queue: DispatchQueue, handler: @escaping @Sendable (ConnectionError?) -> Void) {
      state.withLock { $0.pongHandler = PongHandler(queue: queue, handler: handler) }
    }

    func takePongHandler() -> PongHandler? {
      state.withLock { state in
        defer { state.pongHandler = nil }
        return state.pongHandler
      }
    }
  }
}

extension ConnectionParameters {
  /// WebSocket over TCP, default options. Every call makes new ones.
  public static var webSocket: ConnectionParameters { webSocket(WebSocketProtocol.Options()) }

  /// WebSocket over TLS, default options. Every call makes new ones.
  public static var secureWebSocket: ConnectionParameters {
    webSocket(WebSocketProtocol.Options(), tls: DialRequest.TLS(applicationProtocols: ["http/1.1"]))
  }

  /// WebSocket.
  ///
  /// - Parameters:
  ///   - options: the handshake and the limits.
  ///   - tls: default `nil`: none.
  public static func webSocket(
    _ options: WebSocketProtocol.Options, tls: DialRequest.TLS? = nil
  ) -> ConnectionParameters {
    let parameters = ConnectionParameters(tls: tls)
    parameters.defaultProtocolStack.applicationProtocols = [options]
    return parameters
  }
}
