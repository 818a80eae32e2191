// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// How the engine works: threads, connections, queue, limits, pins. Checked when the engine is made.
///
/// ```swift
/// let engine = try CurlConfiguration(pins: [PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])])
/// ```
public struct CurlConfiguration: Sendable {
  /// Event-loop threads; transfers are spread over them, connections are not shared. Default 1, at most 64.
  public var loops = 1
  /// How connections are made, unless a request says otherwise.
  public var connection = ConnectionOptions()
  /// Holds hosts to the keys that are pinned for them: on every connection of the engine, those of its dialers included.
  /// For other hosts chain and host name suffice. Default none.
  ///
  /// It is short for a `ServerTrustEvaluator` as `connection.tls.trustJudge`, which also refuses hosts without pins, takes
  /// other pins while it runs, and reports; making an engine with both is an error, as with two policies for one host.
  public var pins: [PinningPolicy]
  /// Most connections to one host (scheme, name and port) for each loop. More requests wait. Default 128.
  public var connectionsPerHost = 128
  /// Most requests in flight to one host that speaks HTTP/2, for each loop. libcurl puts at most 100 on one
  /// connection, fewer where the server says so, and opens one more for each request beyond. Default 100.
  public var http2StreamsPerHost = 100
  /// Most requests that wait for a connection, for each loop; one more fails with `limit/queue_full`. Default 16,384.
  public var maximumQueuedRequests = 16_384
  /// Most idle connections kept, for each loop; the oldest is closed first. Default 256.
  public var idleConnections = 256
  /// Idle connections are closed after so long. Default 60 s, at least 1 s.
  public var idleLifetime: Duration = .seconds(60)
  /// No connection serves a new request after so long, so that DNS changes are seen. Default 5 minutes, at least 1 s.
  public var connectionLifetime: Duration = .seconds(300)
  /// Requests let in at once to a host no connection was made to yet: each may take a thread that resolves its name.
  /// Default 16.
  public var coldRequestsPerHost = 16
  /// Most bytes of a response head, interim ones included. Default 256 KiB. libcurl has limits of its own, whatever this
  /// is: 100 KiB for a line, and 300 KiB in all (not in 8.2 and older that nobody patched).
  public var maximumHeadBytes = ExchangeLimits().headBytes
  /// Most header fields of a response. Default 500.
  public var maximumHeaderFields = ExchangeLimits().fields
  /// Most interim (1xx) responses before the final one. Default 32.
  public var maximumInterimResponses = ExchangeLimits().interimResponses
  /// Whether `Accept-Encoding: gzip, deflate` is sent and compressed bodies are expanded, unless the request has the field
  /// itself, or `Range`. Another coding is refused (`response/bad_content_encoding`). The header fields stay as the server sent them.
  /// Default true.
  public var decompresses = true
  /// Most content codings of one body, one upon the other; more are refused from the head
  /// (`response/bad_content_encoding`). Each takes 40 KiB to undo, and `identity` is none. Default 1, at most 8.
  public var maximumContentCodings = 1
  /// A streamed body that expands to more than so many times its size is refused, after the first 32 MiB. Default 250.
  public var maximumDecompressionRatio = 250
  /// Bytes buffered for the reader of a streamed body before the server is held up; memory is taken as they come. Default
  /// 1 MiB: each time it fills, reader and event loop wake each other. libcurl itself may hold one read more for a paused
  /// stream, as it came: up to 128 KiB, and over HTTP/2 up to 32 MiB.
  public var streamBufferBytes = 1024 * 1024
  /// Sent as `User-Agent` where the request has none; `nil` sends none. Default `Lastro/` and the version.
  public var userAgent: String? = "Lastro/\(LastroVersion.current)"

  /// Makes a configuration; everything else is a property, with a default.
  ///
  /// - Parameter pins: keys that hosts are held to. Default none.
  public init(pins: [PinningPolicy] = []) { self.pins = pins }

  /// How connections are made, under the pins.
  func pinnedConnection() throws(ConfigurationError) -> ConnectionOptions {
    guard !pins.isEmpty else { return connection }
    guard connection.tls.trustJudge == nil else {
      throw ConfigurationError(
        "pins and connection.tls.trustJudge are both set", hint: "give the policies to the judge's configuration")
    }
    var connection = connection
    do throws(ServerTrustEvaluator.ConfigurationValidationError) {
      connection.tls.trustJudge = ServerTrustEvaluator(
        configuration: try .init(pinningPolicies: pins, allowNotPinnedDomains: true))
    } catch {
      throw ConfigurationError(error.description)
    }
    return connection
  }

  func checked() throws(ConfigurationError) -> LoopSettings {
    let positive: [(String, Int)] = [
      ("loops", loops), ("connectionsPerHost", connectionsPerHost), ("http2StreamsPerHost", http2StreamsPerHost),
      ("idleConnections", idleConnections), ("coldRequestsPerHost", coldRequestsPerHost),
      ("maximumHeadBytes", maximumHeadBytes), ("maximumHeaderFields", maximumHeaderFields),
      ("maximumDecompressionRatio", maximumDecompressionRatio), ("streamBufferBytes", streamBufferBytes),
      ("maximumContentCodings", maximumContentCodings),
    ]
    for (name, value) in positive where value < 1 {
      throw ConfigurationError("\(name) is \(value)", hint: "it must be at least 1")
    }
    for (name, value) in [
      ("maximumQueuedRequests", maximumQueuedRequests), ("maximumInterimResponses", maximumInterimResponses),
    ] where value < 0 {
      throw ConfigurationError("\(name) is \(value)", hint: "it must not be negative")
    }
    if let userAgent, userAgent.utf8.contains(where: \.isControl) {
      throw ConfigurationError("userAgent has a control character", hint: "CR and LF would start another header field")
    }
    guard maximumContentCodings <= 8 else {
      throw ConfigurationError(
        "maximumContentCodings is \(maximumContentCodings)", hint: "servers apply one; each costs memory; at most 8")
    }
    guard loops <= 64 else {
      throw ConfigurationError("loops is \(loops)", hint: "one for each core is plenty; at most 64")
    }
    for (name, value) in [("idleLifetime", idleLifetime), ("connectionLifetime", connectionLifetime)]
    where value < .seconds(1) {
      throw ConfigurationError("\(name) is \(value)", hint: "it must be at least a second")
    }
    return LoopSettings(
      connectionsPerHost: connectionsPerHost, http2StreamsPerHost: http2StreamsPerHost,
      queuedRequests: maximumQueuedRequests, idleConnections: idleConnections, idleLifetime: idleLifetime,
      connectionLifetime: connectionLifetime, lookups: coldRequestsPerHost, environmentProxies: .environment(),
      trustJudge: connection.tls.trustJudge,
      transfer: TransferLimits(
        headBytes: maximumHeadBytes, headFields: maximumHeaderFields, interimResponses: maximumInterimResponses,
        decompresses: decompresses, contentCodings: maximumContentCodings,
        decompressionRatio: maximumDecompressionRatio,
        decompressionFloor: 32 * 1024 * 1024, streamBufferBytes: streamBufferBytes,
        idleLifetimeSeconds: Int(clamping: idleLifetime.components.seconds),
        connectionLifetimeSeconds: Int(clamping: connectionLifetime.components.seconds), userAgent: userAgent))
  }
}
