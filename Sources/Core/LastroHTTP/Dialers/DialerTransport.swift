// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroSupport
internal import LastroWire

/// HTTP/1.1 and HTTP/2 over the streams of any `Dialer`: through SOCKS, CONNECT, meek and chains of them, or in memory.
///
/// Lastro speaks HTTP itself here, by the machines that the engine uses. What the engine does for a fetch it does too:
/// connections are pooled for each origin, HTTP/2 is spoken where the server picks it (ALPN), requests wait first come,
/// first served, bodies stream with back-pressure both ways, and the same requests are sent again. Redirects,
/// retries, interceptors and decoding are those of the `TransportNetworkStack` over it.
///
/// ```swift
/// let proxy = try ProxyServer(host: "127.0.0.1", port: 9050)
/// let transport = try DialerTransport(over: TLSDialer(over: SOCKS5Dialer(proxy: proxy, over: engine)))
/// let stack = TransportNetworkStack(transport: transport)
/// let page = try await stack.fetch(.raw(try ResourceRequest(url: "https://example.com/")))
/// ```
///
/// For `https` the dialer has to do TLS: `CurlDialer` and `TLSDialer` do, and tunnels by themselves do not. Proxies are
/// what the dialer is made of, and names go down it unresolved: of `ConnectionOptions` only what the dialer reads has
/// an effect, and the version of HTTP.
///
/// Who may be talked to is the dialer's to say, within the handshake; before each request on a pooled connection its
/// rules are asked about again (`Dialer.trustRevisions(for:)`, `Dialer.checkPlaintext(_:)`), and a
/// connection dialed under others carries nothing more.
///
/// Any thread may call it. Cancelling the calling task ends the exchange at whatever stage it is, at once: over
/// HTTP/1.1 the connection closes, over HTTP/2 one stream is reset. When the transport is dropped, its idle connections
/// close.
///
/// It runs on the event loop of the engine below its dialer, or on one that all such transports share, which starts
/// with the first request. `Dialer.trustRevisions(for:)` and `Dialer.checkPlaintext(_:)` are called on that thread, and
/// must not block.
public final class DialerTransport: Transport {
  private enum State {
    /// The engine is opened with the first request.
    case unused
    case open(EnginePort)
    case shutDown
  }

  let configuration: Configuration
  let dialerName: String
  private let dialer: any Dialer
  private let role: ServerTrust.Role
  /// The layers of the dialer that read TLS files.
  private let fileLayers: [any TLSFileDialer]
  private let state = Lock(State.unused)

  /// Makes a transport; nothing is dialed yet.
  ///
  /// - Parameters:
  ///   - dialer: opens the streams.
  ///   - configuration: limits, and what is sent beside the request. Default `Configuration()`.
  /// - Throws: `ConfigurationError` for a value that cannot work.
  public convenience init(
    over dialer: any Dialer, configuration: Configuration = Configuration()
  ) throws(ConfigurationError) {
    try configuration.check()
    self.init(dialer, role: .server, configuration: configuration)
  }

  /// - Parameters:
  ///   - role: the role of the answering server: the target, or a proxy on the way.
  ///   - configuration: is not checked.
  package init(_ dialer: any Dialer, role: ServerTrust.Role, configuration: Configuration) {
    self.dialer = dialer
    self.role = role
    fileLayers = dialer.layers.compactMap { $0 as? any TLSFileDialer }
    self.configuration = configuration
    dialerName = configuration.dialerName ?? "\(type(of: dialer))"
  }

  /// Performs one exchange.
  ///
  /// - Throws: `TransportError`; what the dialer throws, as it is; stage `cancelled`, code `shut_down`, after
  ///   ``shutDown(cancelling:)``; `limit/queue_full`; code `engine_failure` where there is no thread for the engine.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    guard Origin(request.head) != nil else {
      throw .refused(.unsupportedScheme, "the request has no URL with the scheme http or https", hint: "give one")
    }
    for layer in fileLayers { layer.lookAtFiles(for: request.connection ?? configuration.connection) }
    return try await port().execute(
      request, own: request.connection.map { SharedOptions($0) }, asks: request.asks)
  }

  /// Returns the engine, which is opened with the first call.
  func port() throws(TransportError) -> EnginePort {
    let result: Result<EnginePort, TransportError> = state.withLock { state in
      switch state {
      case .open(let port): return .success(port)
      case .shutDown: return .failure(.shutDown)
      case .unused: break
      }
      do throws(ConfigurationError) {
        let port = try EnginePort.open(
          over: dialer, role: role, settings: configuration.engine,
          options: SharedOptions(given: configuration.connection), time: configuration.timeSource)
        state = .open(port)
        return .success(port)
      } catch {
        return .failure(TransportError(error))
      }
    }
    return try result.get()
  }

  /// Takes no more requests, and returns when the running ones have ended and the idle connections are closed.
  ///
  /// - Parameter cancelling: whether running requests are cancelled (code `shut_down`) instead of awaited; they are,
  ///   too, when the calling task is cancelled. Default false.
  public func shutDown(cancelling: Bool = false) async {
    let port: EnginePort? = state.withLock { state in
      if case .open(let port) = state { return port }
      state = .shutDown
      return nil
    }
    await port?.shutDown(cancelling: cancelling)
  }
}

extension TransferRequest {
  /// The rule by which the response ends.
  var asks: ResponseReader.Request {
    if head.method == .head { return .head }
    return head.headerFields.contains(.upgrade) ? .upgrade : .ordinary
  }
}
