// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import Lastro
internal import LastroSupport
public import LastroWebSocket

/// WebSocket as an application protocol of a ``Connection``; it corresponds to `NWProtocolWebSocket` of Network
/// framework.
///
/// ```swift
/// let connection = NetworkConnection(to: .url(url), using: .webSocket, dialer: CurlNetworkStack.sharedDialer)
/// let metadata = WebSocketProtocol.Metadata(opcode: .text)
/// let context = ConnectionContentContext(identifier: "text", metadata: [metadata])
/// ```
///
/// The path and `Host` of the handshake come from a URL endpoint, or from ``Options/url``. Interceptors, redirects and
/// compression are not supported; use `WebSocketClient` for those. Messages are delivered whole, each with its
/// ``Metadata`` in the context. When the connection is cancelled, it sends a Close frame and waits for that of the
/// server.
public enum WebSocketProtocol {
  /// The key of ``Metadata``.
  public static let definition = ProtocolDefinition(implementation: WebSocketFramer.self)

  /// The type of a frame (RFC 6455 §5.2).
  public enum Opcode: Sendable, Hashable {
    /// A continuation of a message.
    case cont
    /// UTF-8 text.
    case text
    /// Bytes.
    case binary
    /// A Close frame, whose content is the reason.
    case close
    /// A ping.
    case ping
    /// A pong.
    case pong
  }

  /// The options of the protocol. They are a value: a connection uses the options that were in its parameters.
  public struct Options: ProtocolOptions {
    /// The definition of the protocol.
    public var definition: ProtocolDefinition { WebSocketProtocol.definition }
    /// Whether pings are answered automatically, and then not delivered. Default false, as in Network framework.
    public var autoReplyPing = false
    /// The maximum size of a received message. Default 1 MiB. Larger messages end the connection.
    public var maximumMessageSize = 1 << 20
    /// Additional header fields of the handshake. Default: none.
    public var additionalHeaders: RawHeaders = [:]
    /// The subprotocols to offer. Default: none.
    public var subprotocols: [String] = []
    /// The URL of the handshake, such as `ws://example.org/chat`. Default `nil`: the endpoint's URL, else `/` on its
    /// host.
    public var url: String?

    /// Creates the default options.
    public init() {}
  }

  /// The metadata of one message, in its context.
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

    /// The definition of the protocol.
    public var definition: ProtocolDefinition { WebSocketProtocol.definition }
    /// The type of the frame.
    public let opcode: Opcode
    private let state = Lock(State())

    /// Creates metadata for a message to send.
    public init(opcode: Opcode) { self.opcode = opcode }

    /// The code of a Close frame: the one to send, default 1000, or the received one. A frame without a code reads as
    /// 1005.
    public var closeCode: WebSocketCloseCode {
      get { state.withLock { $0.closeCode } }
      set { state.withLock { $0.closeCode = newValue } }
    }

    /// Sets the handler that is called once, when the pong for this ping has arrived or the connection has ended.
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
  /// Parameters for WebSocket over TCP with default options. Each access creates new ones.
  public static var webSocket: ConnectionParameters { webSocket(WebSocketProtocol.Options()) }

  /// Parameters for WebSocket over TLS with default options. Each access creates new ones.
  public static var secureWebSocket: ConnectionParameters {
    webSocket(WebSocketProtocol.Options(), tls: DialRequest.TLS(applicationProtocols: ["http/1.1"]))
  }

  /// Returns parameters for WebSocket.
  ///
  /// - Parameters:
  ///   - options: the options of the handshake, and the limits.
  ///   - tls: the TLS parameters. Default `nil`: no TLS.
  public static func webSocket(
    _ options: WebSocketProtocol.Options, tls: DialRequest.TLS? = nil
  ) -> ConnectionParameters {
    let parameters = ConnectionParameters(tls: tls)
    parameters.defaultProtocolStack.applicationProtocols = [options]
    return parameters
  }
}
