// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro
internal import LastroSupport
package import LastroWire

/// A transport that speaks HTTP/1.1 and HTTP/2 over the streams of any `Dialer`: through SOCKS, CONNECT, meek and
/// chains of them, or in memory.
///
/// Lastro implements HTTP itself here, with the engine that also serves `CurlNetworkStack`, and with the same behavior:
/// connections are pooled for each origin, HTTP/2 is used if the server selects it (ALPN), requests wait in the order
/// of their arrival, bodies stream with back-pressure in both directions, and the same rules decide which requests are
/// sent again. Redirects, retries, interceptors and decoding are the task of the `TransportNetworkStack` that uses it.
///
/// ```swift
/// let proxy = try Tunnel.socks5(host: "127.0.0.1", port: 9050, over: engine)
/// let transport = try DialerTransport(over: proxy.addingTLS())
/// let stack = TransportNetworkStack(transport: transport)
/// let page = try await stack.fetch(.raw(try ResourceRequest(url: "https://example.com/")))
/// ```
///
/// For `https`, the dialer must provide TLS. That of a `CurlNetworkStack` does, and so does any dialer with
/// `addingTLS(connection:)` of `LastroCurl`; tunnels alone do not. The dialer determines the proxies, and names are
/// passed to it unresolved. Of `ConnectionOptions`, only the options that the dialer reads and the version of HTTP have
/// an effect.
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
  let configuration: Configuration
  let dialerName: String
  private let dialer: any Dialer
  private let role: ServerTrust.Role
  /// The layers of the dialer that read TLS files.
  let fileLayers: [any TLSFileDialer]
  /// The engine, or the reason why there is none any more; `nil` before the first request, which opens the engine.
  private let engine = Lock<Result<EnginePort, TransportError>?>(nil)

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

  /// The engine, if a request has opened it.
  var openedPort: EnginePort? { engine.withLock { try? $0?.get() } }

  /// Returns the engine, which is opened with the first call.
  func port() throws(TransportError) -> EnginePort {
    try engine.withLock { engine throws(TransportError) in
      if let engine { return try engine.get() }
      do throws(ConfigurationError) {
        let loop = try EventLoop.forHTTP(over: dialer, time: LoopTime(configuration.timeSource))
        let options = SharedOptions(configuration.connection)
        let port = EnginePort.open(on: loop, configuration, options: options) { [dialer, role] in
          DialerConnector(dialer, role: role, $0)
        }
        engine = .success(port)
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
    let port: EnginePort? = engine.withLock { engine in
      if case .success(let port) = engine { return port }
      engine = .failure(.shutDown)
      return nil
    }
    await port?.shutDown(cancelling: cancelling)
  }
}

extension TransferRequest {
  /// The rule that determines where the response ends.
  package var asks: ResponseReader.Request {
    if head.method == .head { return .head }
    return head.headerFields.contains(.upgrade) ? .upgrade : .ordinary
  }
}

extension DialerTransport {
  /// Returns the dialer, HTTP version and connection limit of an exchange.
  public func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    let options = request.connection ?? configuration.connection ?? ConnectionOptions()
    return configuration.explain(request, over: [.init("dialer", dialerName)], version: options.httpVersion)
      .map { (name: $0.name, value: $0.value) }
  }
}

extension DialerTransport {
  /// The limits and options of a ``DialerTransport``. They are checked when the transport is created.
  public struct Configuration: Sendable {
    /// The options of dials, and the version of HTTP, for requests without options of their own. Default `nil`: the
    /// dialer's options, and HTTP/2 over TLS if the server selects it.
    public var connection: ConnectionOptions?
    /// The maximum number of connections to one origin. Further requests wait. Default 128, at least 1.
    public var connectionsPerHost = 128
    /// The maximum number of requests that wait for a connection. One more fails with `limit/queue_full`. Default
    /// 16,384; 0 or more.
    public var maximumQueuedRequests = 16_384
    /// The maximum number of idle connections. The one that has been idle longest is closed first. Default 256. With 0,
    /// a connection is closed as soon as it carries no request, and is never reused.
    public var idleConnections = 256
    /// The time after which an idle connection is closed. Default 60 s, at least 1 s.
    public var idleLifetime = Duration.seconds(60)
    /// The age beyond which a connection accepts no new request. Default 5 minutes, at least 1 s.
    public var connectionLifetime = Duration.seconds(300)
    /// The maximum size of a response head in bytes. Each interim head counts separately. Default 256 KiB, at least 1.
    /// Over HTTP/2, an encoded field may have at most 64 KiB, and a larger one closes the connection.
    public var maximumHeadBytes = 256 * 1024
    /// The maximum number of header fields of a response. Default 500, at least 1.
    public var maximumHeaderFields = 500
    /// The number of interim (1xx) responses that a server may send at once without progress. A hundred per second are
    /// free, and so is one for each 16 bytes of the request's body that are sent. Default 32. With 0, every interim
    /// response is refused (`limit/too_many_interim_responses`).
    public var maximumInterimResponses = 32
    /// Whether `Accept-Encoding` is sent and compressed bodies are decompressed, unless the request sets that field or
    /// `Range`. Default true.
    public var decompresses = true
    /// The content codings of responses, in the order of preference in which `Accept-Encoding` lists them. A body in
    /// another coding is refused. Default gzip and deflate. An empty list and a name that occurs twice are errors.
    public var codings: [ContentCoding] = [.gzip, .deflate]
    /// The maximum memory that the decoders of other codings than gzip and deflate hold for all bodies together, in
    /// bytes. A body that needs more fails with `limit/decoding_memory_full`. Default 256 MiB, at least 1.
    public var maximumWindowBytes = 256 << 20
    /// Whether responses are refused whose `Content-Encoding` has empty members or names that are not codings: `none`,
    /// `utf-8` and `aws-chunked`. Default false: such names have no effect.
    public var refusesMisnamedCodings = false
    /// The maximum number of content codings that are applied to one body. Default 1, at most 8.
    public var maximumContentCodings = 1
    /// The maximum ratio of a streamed body's decompressed size to its compressed size. A body that exceeds it is
    /// refused, after the first 32 MiB. Default 250, at least 1.
    public var maximumDecompressionRatio = 250
    /// The number of bytes that are buffered for the reader of a streamed body before the server must wait. Default 1
    /// MiB, at least 1. Over HTTP/2, the server may send further bytes ahead: 1 MiB, and up to 16 MiB for readers that
    /// keep up.
    public var streamBufferBytes = 1 << 20
    /// The `User-Agent` of requests that have none; `nil` sends none. A control character is refused. Default `Lastro/`
    /// and the version.
    public var userAgent: String? = "Lastro/\(PackageVersion.text)"
    /// The clock that measures limits and lifetimes. Default: the system's clock. The dialer measures its dials. The
    /// wait for a dial ends 50 ms after its limit on this clock.
    public var timeSource = TimeSource.continuous
    /// The maximum number of requests in flight to one HTTP/2 host, over all its connections.
    package var http2StreamsPerHost = 1_000
    package var http2StreamsPerConnection = 100
    /// The maximum number of concurrent dials to one host.
    package var dialsPerHost = 16
    /// The number of hosts with the same options up to which unused ones are remembered. It is large, because a crawler
    /// connects to thousands of hosts.
    package var rememberedHosts = 1_024
    /// Whether HTTP/2 is offered at all.
    var offersHTTP2 = true
    /// Whether `Accept: */*` is sent with a request that has no `Accept`.
    package var sendsAccept = true
    /// The longest time spent on the body of a response outside 200–299, because its status is enough. Default `nil`:
    /// the request's own limits apply.
    package var errorBodyTime: Duration?
    /// The number of bytes that one HTTP/1.1 exchange may send in a turn of the loop, before others are served.
    package var sentBytesPerTurn = 512 * 1024
    package var http2Liveness = HTTP2Liveness.Limits()
    package var connectionObserver: (@Sendable (ConnectionChange) -> Void)?
    /// The memory of the decoders. Default `nil`: the engine has its own.
    package var decodingMemory: DecodingMemory?
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
      configuration.userAgent = nil
      configuration.decompresses = false
      configuration.sendsAccept = false
      configuration.offersHTTP2 = false
      configuration.idleConnections = idleConnections
      configuration.timeSource = timeSource
      return configuration
    }
  }
}
