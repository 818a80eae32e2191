// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

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
