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

extension DialerTransport {
  /// Returns the dialer, HTTP version and connection limit of an exchange.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    let options = request.connection ?? configuration.connection ?? ConnectionOptions()
    return configuration.engine.explain(request, with: options, by: DialerConnector.self, dialerName)
  }
}

extension DialerTransport {
  /// The limits and options of a ``DialerTransport``. Checked when it is made.
  public struct Configuration: Sendable {
    /// The options of dials, and the version of HTTP, unless a request has its own. Default `nil`: as
    /// the dialer has it, and HTTP/2 over TLS where the server picks it.
    public var connection: ConnectionOptions?
    /// Most connections to one origin. More requests wait. Default 128, at least 1.
    public var connectionsPerHost: Int {
      get { engine.connectionsPerHost }
      set { engine.connectionsPerHost = newValue }
    }
    /// Most requests at a time on one connection of HTTP/2, fewer where the server says so. Default 100, at least 1.
    public var http2StreamsPerConnection: Int {
      get { engine.http2StreamsPerConnection }
      set {
        engine.http2StreamsPerConnection = newValue
        engine.http2StreamsPerHost = max(engine.http2StreamsPerHost, newValue)
      }
    }
    /// Most requests that wait for a connection; one more fails with `limit/queue_full`. Default 16,384; 0 or more.
    public var maximumQueuedRequests: Int {
      get { engine.queuedRequests }
      set { engine.queuedRequests = newValue }
    }
    /// Most idle connections kept; the oldest is closed first. Default 256. With 0 a connection is closed as soon as it
    /// carries no request, and never carries another.
    public var idleConnections: Int {
      get { engine.idleConnections }
      set { engine.idleConnections = newValue }
    }
    /// Idle connections are closed after so long. Default 60 s, at least 1 s.
    public var idleLifetime: Duration {
      get { .nanoseconds(engine.idleLifetime) }
      set { engine.idleLifetime = newValue.nanoseconds }
    }
    /// No connection takes a new request after so long. Default 5 minutes, at least 1 s.
    public var connectionLifetime: Duration {
      get { .nanoseconds(engine.connectionLifetime) }
      set { engine.connectionLifetime = newValue.nanoseconds }
    }
    /// The maximum size of a response head in bytes; interim heads count by themselves. Default 256 KiB, at least 1.
    /// Over HTTP/2 a field may have 64 KiB, as it is coded, and one that has more costs the connection.
    public var maximumHeadBytes: Int {
      get { engine.messages.limits.headBytes }
      set { engine.messages.limits.headBytes = newValue }
    }
    /// Most header fields of a response. Default 500, at least 1.
    public var maximumHeaderFields: Int {
      get { engine.messages.limits.fields }
      set { engine.messages.limits.fields = newValue }
    }
    /// The number of interim (1xx) responses that a server may send at once without progress. A hundred a second are
    /// free, and so is one for each 16 bytes of the request's body that are sent. Default 32; with 0 any of them is
    /// refused (`limit/too_many_interim_responses`).
    public var maximumInterimResponses: Int {
      get { engine.messages.limits.interimResponses }
      set { engine.messages.limits.interimResponses = newValue }
    }
    /// Whether `Accept-Encoding: gzip, deflate` is sent and compressed bodies are expanded, unless the request has the
    /// field itself, or `Range`. Default true.
    public var decompresses: Bool {
      get { engine.messages.decompresses }
      set { engine.messages.decompresses = newValue }
    }
    /// Most content codings of one body, one upon the other. Default 1, at most 8.
    public var maximumContentCodings: Int {
      get { engine.messages.decoding.codings }
      set { engine.messages.decoding.codings = newValue }
    }
    /// A streamed body that expands to more than so many times its size is refused, after the first 32 MiB. Default
    /// 250, at least 1.
    public var maximumDecompressionRatio: Int {
      get { engine.messages.decoding.ratio }
      set { engine.messages.decoding.ratio = newValue }
    }
    /// Bytes buffered for the reader of a streamed body before the server is held up. Default 1 MiB, at least 1. Over
    /// HTTP/2 as much as the server may send ahead comes on top: 1 MiB, and up to 16 MiB for readers who keep up.
    public var streamBufferBytes: Int {
      get { engine.messages.streamBufferBytes }
      set { engine.messages.streamBufferBytes = newValue }
    }
    /// Sent as `User-Agent` where the request has none; `nil` sends none. A control character is refused. Default
    /// `Lastro/` and the version.
    public var userAgent: String? {
      get { engine.messages.userAgent }
      set { engine.messages.userAgent = newValue }
    }
    /// Whether `Accept: */*` is sent where the request has no `Accept`. Default true.
    public var sendsAccept: Bool {
      get { engine.messages.sendsAccept }
      set { engine.messages.sendsAccept = newValue }
    }
    /// Measures limits and lifetimes. Default: the system's clock. The dialer measures a dial; the
    /// wait for it ends 50 ms after its limit by this clock.
    public var timeSource = TimeSource.continuous
    /// The values of the properties above.
    package var engine = EngineSettings()
    /// The dialer's name in explanations. Default its type.
    package var dialerName: String?

    /// Makes a configuration; everything is a property, with a default.
    public init() {}

    /// For protocols that are made of HTTP/1.1: nothing is added to requests.
    ///
    /// - Parameters:
    ///   - timeSource: measures limits.
    ///   - idleConnections: kept at most. Default none.
    package static func bare(_ timeSource: TimeSource, idleConnections: Int = 0) -> Self {
      var configuration = Self()
      configuration.userAgent = nil
      configuration.decompresses = false
      configuration.sendsAccept = false
      configuration.engine.offersHTTP2 = false
      configuration.idleConnections = idleConnections
      configuration.timeSource = timeSource
      return configuration
    }
  }
}

extension DialerTransport.Configuration {
  func check() throws(ConfigurationError) {
    try ConfigurationError.checkLimits(
      positive: [
        "connectionsPerHost": connectionsPerHost, "http2StreamsPerConnection": http2StreamsPerConnection,
        "maximumHeadBytes": maximumHeadBytes, "maximumHeaderFields": maximumHeaderFields,
        "maximumDecompressionRatio": maximumDecompressionRatio, "streamBufferBytes": streamBufferBytes,
        "maximumContentCodings": maximumContentCodings,
      ],
      notNegative: [
        "maximumQueuedRequests": maximumQueuedRequests, "maximumInterimResponses": maximumInterimResponses,
        "idleConnections": idleConnections,
      ], contentCodings: maximumContentCodings,
      lifetimes: ["idleLifetime": idleLifetime, "connectionLifetime": connectionLifetime], userAgent: userAgent)
  }
}
