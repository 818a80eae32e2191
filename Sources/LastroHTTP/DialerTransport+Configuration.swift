// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension DialerTransport {
  /// The limits and options of a ``DialerTransport``. Checked when it is made.
  public struct Configuration: Sendable {
    /// How streams are dialed, and which version of HTTP is spoken, unless a request says otherwise. Default `nil`: as
    /// the dialer has it, and HTTP/2 over TLS where the server picks it.
    public var connection: ConnectionOptions?
    /// Most connections to one origin. More requests wait. Default 128, at least 1.
    public var connectionsPerHost = 128
    /// Most requests at a time on one connection of HTTP/2, fewer where the server says so. Default 100, at least 1.
    public var http2StreamsPerConnection = 100
    /// Most requests that wait for a connection; one more fails with `limit/queue_full`. Default 16,384; 0 or more.
    public var maximumQueuedRequests = 16_384
    /// Most idle connections kept; the oldest is closed first. Default 256. With 0 a connection is closed as soon as it
    /// carries no request, and never carries another.
    public var idleConnections = 256
    /// Idle connections are closed after so long. Default 60 s, at least 1 s.
    public var idleLifetime: Duration = .seconds(60)
    /// No connection takes a new request after so long. Default 5 minutes, at least 1 s.
    public var connectionLifetime: Duration = .seconds(300)
    /// The maximum size of a response head in bytes; interim heads count by themselves. Default 256 KiB, at least 1.
    /// Over HTTP/2 a field may have 64 KiB, as it is coded, and one that has more costs the connection.
    public var maximumHeadBytes = ExchangeLimits().headBytes
    /// Most header fields of a response. Default 500, at least 1.
    public var maximumHeaderFields = ExchangeLimits().fields
    /// The number of interim (1xx) responses that a server may send at once without progress. A hundred a second are
    /// free, and so is one for each 16 bytes of the request's body that are sent. Default 32; with 0 any of them is
    /// refused (`limit/too_many_interim_responses`).
    public var maximumInterimResponses = ExchangeLimits().interimResponses
    /// Whether `Accept-Encoding: gzip, deflate` is sent and compressed bodies are expanded, unless the request has the
    /// field itself, or `Range`. Default true.
    public var decompresses = true
    /// Most content codings of one body, one upon the other. Default 1, at most 8.
    public var maximumContentCodings = 1
    /// A streamed body that expands to more than so many times its size is refused, after the first 32 MiB. Default
    /// 250, at least 1.
    public var maximumDecompressionRatio = 250
    /// Bytes buffered for the reader of a streamed body before the server is held up. Default 256 KiB, at least 1. Over
    /// HTTP/2 as much as the server may send ahead comes on top: 1 MiB, and up to 16 MiB for readers who keep up.
    public var streamBufferBytes = 256 * 1024
    /// Sent as `User-Agent` where the request has none; `nil` sends none. A control character is refused. Default
    /// `nil`.
    public var userAgent: String?
    /// Whether `Accept: */*` is sent where the request has no `Accept`. Default true.
    public var sendsAccept = true
    /// Measures limits and lifetimes. Default: the system's clock. The dialer measures a dial; the
    /// wait for it ends 50 ms after its limit by this clock.
    public var timeSource = TimeSource.continuous
    /// Whether HTTP/2 is offered at all.
    package var offersHTTP2 = true
    /// Longest time spent on the body of an answer outside 200–299.
    package var errorBodyTime: Duration?
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
      configuration.decompresses = false
      configuration.sendsAccept = false
      configuration.offersHTTP2 = false
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

  var limits: ConnectionPool.Limits {
    ConnectionPool.Limits(
      host: HostState.Limits(
        connections: connectionsPerHost, lifetime: connectionLifetime, keepsIdle: idleConnections > 0),
      idleConnections: idleConnections, idleLifetime: idleLifetime, queuedJobs: maximumQueuedRequests)
  }

  var settings: ExchangeSettings {
    var settings = ExchangeSettings()
    settings.limits = ExchangeLimits(
      headBytes: maximumHeadBytes, fields: maximumHeaderFields, interimResponses: maximumInterimResponses)
    settings.decoding = DecodingLimits(codings: maximumContentCodings, ratio: maximumDecompressionRatio)
    settings.decompresses = decompresses
    settings.userAgent = userAgent
    settings.sendsAccept = sendsAccept
    settings.streamBufferBytes = streamBufferBytes
    settings.errorBodyTime = errorBodyTime
    settings.offersHTTP2 = offersHTTP2
    settings.http2Streams = http2StreamsPerConnection
    settings.time = timeSource
    return settings
  }
}
