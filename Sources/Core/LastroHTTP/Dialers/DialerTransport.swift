// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroSupport
internal import LastroWire

/// A transport that speaks HTTP/1.1 and HTTP/2 over the streams of any `Dialer`: through SOCKS, CONNECT, meek and
/// chains of them, or in memory.
///
/// Lastro implements HTTP itself here, with the engine that also serves `CurlTransport`, and with the same behavior:
/// connections are pooled for each origin, HTTP/2 is used if the server selects it (ALPN), requests wait in the order
/// of their arrival, bodies stream with back-pressure in both directions, and the same rules decide which requests are
/// sent again. Redirects, retries, interceptors and decoding are the task of the `TransportNetworkStack` that uses it.
///
/// ```swift
/// let proxy = try ProxyServer(host: "127.0.0.1", port: 9050)
/// let transport = try DialerTransport(over: TLSDialer(over: SOCKS5Dialer(proxy: proxy, over: engine)))
/// let stack = TransportNetworkStack(transport: transport)
/// let page = try await stack.fetch(.raw(try ResourceRequest(url: "https://example.com/")))
/// ```
///
/// For `https`, the dialer must provide TLS. `CurlDialer` and `TLSDialer` do; tunnels alone do not. The dialer
/// determines the proxies, and names are passed to it unresolved. Of `ConnectionOptions`, only the options that the
/// dialer reads and the version of HTTP have an effect.
///
/// The dialer decides during the handshake which servers are trusted. Before each request on a pooled connection its
/// rules are checked again (`Dialer.trustRevisions(for:)`, `Dialer.checkPlaintext(_:)`). A connection that was dialed
/// under other rules carries no further requests.
///
/// Any thread may call it. Cancelling the calling task ends the exchange at once, at any stage: over HTTP/1.1 the
/// connection is closed, and over HTTP/2 one stream is reset. When the transport is released, its idle connections are
/// closed.
///
/// The transport runs on the event loop of the engine below its dialer, or else on a loop that all such transports
/// share, which starts with the first request. `Dialer.trustRevisions(for:)` and `Dialer.checkPlaintext(_:)` are called
/// on the loop's thread, and must not block.
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

  /// Creates a transport. Nothing is dialed yet.
  ///
  /// - Parameters:
  ///   - dialer: opens the streams.
  ///   - configuration: limits, and the fields that are added to requests. Default `Configuration()`.
  /// - Throws: `ConfigurationError` for a value that cannot work.
  public convenience init(
    over dialer: any Dialer, configuration: Configuration = Configuration()
  ) throws(ConfigurationError) {
    try configuration.check()
    self.init(dialer, role: .server, configuration: configuration)
  }

  /// Creates a transport.
  ///
  /// - Parameters:
  ///   - role: the role of the server that responds: the target, or a proxy on the way.
  ///   - configuration: the configuration, which is not checked.
  package init(_ dialer: any Dialer, role: ServerTrust.Role, configuration: Configuration) {
    self.dialer = dialer
    self.role = role
    fileLayers = dialer.layers.compactMap { $0 as? any TLSFileDialer }
    self.configuration = configuration
    dialerName = configuration.dialerName ?? "\(type(of: dialer))"
  }

  /// Performs one exchange.
  ///
  /// - Throws: `TransportError`; the dialer's errors, which report that the request was not sent, and with
  ///   `connect_timeout` for an idle timeout; stage `cancelled`, code `shut_down`, after ``shutDown(cancelling:)``;
  ///   `limit/queue_full`; code `engine_failure` if no thread or descriptor is available for the engine.
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
    try state.withLock { state throws(TransportError) in
      switch state {
      case .open(let port): return port
      case .shutDown: throw .shutDown
      case .unused: break
      }
      do throws(ConfigurationError) {
        let port = try EnginePort.open(
          over: dialer, role: role, settings: configuration.engine,
          options: SharedOptions(given: configuration.connection), time: configuration.timeSource)
        state = .open(port)
        return port
      } catch {
        throw TransportError(error)
      }
    }
  }

  /// Stops accepting requests, and returns when the running ones have ended and the idle connections are closed.
  ///
  /// - Parameter cancelling: whether running requests are cancelled (code `shut_down`) instead of awaited. They are
  ///   also cancelled when the calling task is cancelled. Default false.
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
  /// The rule that determines where the response ends.
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
  /// The limits and options of a ``DialerTransport``. They are checked when the transport is created.
  public struct Configuration: Sendable {
    /// The options of dials, and the version of HTTP, for requests without options of their own. Default `nil`: the
    /// dialer's options, and HTTP/2 over TLS if the server selects it.
    public var connection: ConnectionOptions?
    /// The maximum number of connections to one origin. Further requests wait. Default 128, at least 1.
    public var connectionsPerHost: Int {
      get { engine.connectionsPerHost }
      set { engine.connectionsPerHost = newValue }
    }
    /// The maximum number of concurrent requests on one HTTP/2 connection. The server may lower it. Default 100, at
    /// least 1.
    package var http2StreamsPerConnection: Int {
      get { engine.http2StreamsPerConnection }
      set {
        engine.http2StreamsPerConnection = newValue
        engine.http2StreamsPerHost = max(engine.http2StreamsPerHost, newValue)
      }
    }
    /// The maximum number of requests that wait for a connection. One more fails with `limit/queue_full`. Default
    /// 16,384; 0 or more.
    public var maximumQueuedRequests: Int {
      get { engine.queuedRequests }
      set { engine.queuedRequests = newValue }
    }
    /// The maximum number of idle connections. The one that has been idle longest is closed first. Default 256. With 0,
    /// a connection is closed as soon as it carries no request, and is never reused.
    public var idleConnections: Int {
      get { engine.idleConnections }
      set { engine.idleConnections = newValue }
    }
    /// The time after which an idle connection is closed. Default 60 s, at least 1 s.
    public var idleLifetime: Duration {
      get { .nanoseconds(engine.idleLifetime) }
      set { engine.idleLifetime = newValue.nanoseconds }
    }
    /// The age beyond which a connection accepts no new request. Default 5 minutes, at least 1 s.
    public var connectionLifetime: Duration {
      get { .nanoseconds(engine.connectionLifetime) }
      set { engine.connectionLifetime = newValue.nanoseconds }
    }
    /// The maximum size of a response head in bytes. Each interim head counts separately. Default 256 KiB, at least 1.
    /// Over HTTP/2, an encoded field may have at most 64 KiB, and a larger one closes the connection.
    public var maximumHeadBytes: Int {
      get { engine.messages.limits.headBytes }
      set { engine.messages.limits.headBytes = newValue }
    }
    /// The maximum number of header fields of a response. Default 500, at least 1.
    public var maximumHeaderFields: Int {
      get { engine.messages.limits.fields }
      set { engine.messages.limits.fields = newValue }
    }
    /// The number of interim (1xx) responses that a server may send at once without progress. A hundred per second are
    /// free, and so is one for each 16 bytes of the request's body that are sent. Default 32. With 0, every interim
    /// response is refused (`limit/too_many_interim_responses`).
    public var maximumInterimResponses: Int {
      get { engine.messages.limits.interimResponses }
      set { engine.messages.limits.interimResponses = newValue }
    }
    /// Whether `Accept-Encoding: gzip, deflate` is sent and compressed bodies are decompressed, unless the request sets
    /// that field or `Range`. Default true.
    public var decompresses: Bool {
      get { engine.messages.decompresses }
      set { engine.messages.decompresses = newValue }
    }
    /// The maximum number of content codings that are applied to one body. Default 1, at most 8.
    public var maximumContentCodings: Int {
      get { engine.messages.decoding.codings }
      set { engine.messages.decoding.codings = newValue }
    }
    /// The maximum ratio of a streamed body's decompressed size to its compressed size. A body that exceeds it is
    /// refused, after the first 32 MiB. Default 250, at least 1.
    public var maximumDecompressionRatio: Int {
      get { engine.messages.decoding.ratio }
      set { engine.messages.decoding.ratio = newValue }
    }
    /// The number of bytes that are buffered for the reader of a streamed body before the server must wait. Default 1
    /// MiB, at least 1. Over HTTP/2, the server may send further bytes ahead: 1 MiB, and up to 16 MiB for readers that
    /// keep up.
    public var streamBufferBytes: Int {
      get { engine.messages.streamBufferBytes }
      set { engine.messages.streamBufferBytes = newValue }
    }
    /// The `User-Agent` of requests that have none; `nil` sends none. A control character is refused. Default `Lastro/`
    /// and the version.
    public var userAgent: String? {
      get { engine.messages.userAgent }
      set { engine.messages.userAgent = newValue }
    }
    /// Whether `Accept: */*` is sent if the request has no `Accept`. Default true.
    package var sendsAccept: Bool {
      get { engine.messages.sendsAccept }
      set { engine.messages.sendsAccept = newValue }
    }
    /// The clock that measures limits and lifetimes. Default: the system's clock. The dialer measures its dials. The
    /// wait for a dial ends 50 ms after its limit on this clock.
    public var timeSource = TimeSource.continuous
    /// The values of the properties above.
    package var engine = EngineSettings()
    /// The dialer's name in explanations. Default: its type.
    package var dialerName: String?

    /// Creates a configuration. Each property has a default.
    public init() {}

    /// Creates the configuration of protocols that are built on HTTP/1.1. Nothing is added to requests.
    ///
    /// - Parameters:
    ///   - timeSource: the clock that measures limits.
    ///   - idleConnections: the maximum number of idle connections. Default 0.
    package static func bare(_ timeSource: TimeSource, idleConnections: Int = 0) -> Self {
      var configuration = Self()
      configuration.engine.messages = .bare
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
