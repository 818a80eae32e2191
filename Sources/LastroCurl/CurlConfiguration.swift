// SPDX-License-Identifier: Apache-2.0

internal import CLastro
public import Lastro
internal import LastroHTTP
internal import LastroWire

/// The engine's threads, connections, queue, limits and pins. Checked when the engine is made.
///
/// ```swift
/// let engine = try CurlConfiguration(pins: [PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])])
/// ```
public struct CurlConfiguration: Sendable {
  /// The number of event-loop threads. Default 1, at most 64.
  ///
  /// With several loops, each host has a home among them, which has its connections and carries its requests. A second
  /// loop helps out while the home has 64 requests more than that one. The other limits count over all loops.
  public var loops = 1
  /// The options of connections, unless a request has its own. Default `ConnectionOptions()`. Roots of its own that
  /// cannot be read are an error when the engine is made; a request's, of that request.
  public var connection = ConnectionOptions()
  /// Holds hosts to the keys that are pinned for them: on every connection of the engine, those of its dialers
  /// included. For other hosts chain and host name suffice. Default none.
  ///
  /// It is short for a `ServerTrustEvaluator` as `connection.tls.trustJudge`, which also refuses hosts without pins,
  /// takes other pins while it runs, and reports; making an engine with both is an error, as with two policies for one
  /// host.
  public var pins: [PinningPolicy]
  /// The most connections to one host (scheme, name and port). More requests wait. Default 128, at least 1.
  ///
  /// With several ``loops``, a quarter of them (rounded down) is for the loop that helps the host's home out, and the
  /// home has the rest. ``http2StreamsPerHost`` and ``coldRequestsPerHost`` are divided likewise. If one of the three
  /// is below 4, no loop helps out and the home has them all.
  public var connectionsPerHost: Int {
    get { engine.connectionsPerHost }
    set { engine.connectionsPerHost = newValue }
  }
  /// The most requests in flight to one host that speaks HTTP/2, over all its connections; more wait. Default 1,000, at
  /// least 1.
  ///
  /// One connection carries at most 100 of them, or fewer where the server says so. Another connection is opened when
  /// all streams of the others are in use, up to ``connectionsPerHost``. A stream is in use until its response ends, so
  /// set this above the number of event streams and other long responses that are open to one host at a time: requests
  /// beyond the limit wait for one of them to end.
  public var http2StreamsPerHost: Int {
    get { engine.http2StreamsPerHost }
    set { engine.http2StreamsPerHost = newValue }
  }
  /// The most requests that wait for a connection, over all hosts; one more fails with `limit/queue_full`. Default
  /// 16,384; 0 or more.
  public var maximumQueuedRequests: Int {
    get { engine.queuedRequests }
    set { engine.queuedRequests = newValue }
  }
  /// The most idle connections kept, over all hosts; the oldest is closed first. Default 256, at least 1.
  public var idleConnections: Int {
    get { engine.idleConnections }
    set { engine.idleConnections = newValue }
  }
  /// Idle connections are closed after so long. Default 60 s, at least 1 s.
  public var idleLifetime: Duration {
    get { .nanoseconds(engine.idleLifetime) }
    set { engine.idleLifetime = newValue.nanoseconds }
  }
  /// No connection serves a new request after so long, so that DNS changes are seen. Default 5 minutes, at least 1 s.
  public var connectionLifetime: Duration {
    get { .nanoseconds(engine.connectionLifetime) }
    set { engine.connectionLifetime = newValue.nanoseconds }
  }
  /// The most connections to one host that are opened at a time: each may take a thread that resolves its name. Dialers
  /// count theirs on each loop. Default 16, at least 1.
  public var coldRequestsPerHost: Int {
    get { engine.dialsPerHost }
    set { engine.dialsPerHost = newValue }
  }
  /// The maximum size of a response head in bytes; interim heads count by themselves. Default 256 KiB, at least 1. Over
  /// HTTP/2 a field may have 64 KiB, as it is coded, and one that has more costs the connection.
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
  /// field itself, or `Range`. Another coding is refused (`response/bad_content_encoding`). The header fields stay as
  /// the server sent them. Default true.
  public var decompresses: Bool {
    get { engine.messages.decompresses }
    set { engine.messages.decompresses = newValue }
  }
  /// Most content codings of one body, one upon the other; more are refused from the head
  /// (`response/bad_content_encoding`). Each takes 40 KiB to undo, and `identity` does not count. Default 1, at most 8.
  public var maximumContentCodings: Int {
    get { engine.messages.decoding.codings }
    set { engine.messages.decoding.codings = newValue }
  }
  /// A streamed body that expands to more than so many times its size is refused, after the first 32 MiB. Default 250,
  /// at least 1.
  public var maximumDecompressionRatio: Int {
    get { engine.messages.decoding.ratio }
    set { engine.messages.decoding.ratio = newValue }
  }
  /// Bytes buffered for the reader of a streamed body before the server is held up, at least 1; memory is taken as they
  /// come. Default 1 MiB: each time it fills, reader and event loop wake each other. For a slow reader the engine holds
  /// more, as it came: one read of up to 128 KiB, and over HTTP/2 up to the stream's window, 1 MiB, or more for a
  /// reader that kept up before.
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
  /// Whether `Accept: */*` is sent where the request has no `Accept`, nor the stack. Default true.
  public var sendsAccept: Bool {
    get { engine.messages.sendsAccept }
    set { engine.messages.sendsAccept = newValue }
  }

  /// A closure that is called when connections for HTTP are opened, used and closed; those of dialers are not
  /// reported. It runs on the loop's thread, which waits for it, so work that takes long must be handed over. The
  /// changes of one connection are reported one after another. Default `nil`.
  public var connectionObserver: (@Sendable (Network.ConnectionChange) -> Void)? {
    get { engine.connectionObserver }
    set { engine.connectionObserver = newValue }
  }

  /// The values of the properties above. Tests change others, too.
  var engine = EngineSettings()
  /// Bytes that one TLS connection may read in a turn of the loop; tests lower it.
  var tlsBytesPerTurn = Int(CLASTRO_TURN_BYTES)

  /// Makes a configuration; everything else is a property, with a default.
  ///
  /// - Parameter pins: keys that hosts are held to. Default none.
  public init(pins: [PinningPolicy] = []) { self.pins = pins }

  /// Returns the options of connections, with the pins.
  func pinnedConnection() throws(ConfigurationError) -> ConnectionOptions {
    guard !pins.isEmpty else { return connection }
    guard connection.tls.trustJudge == nil else {
      throw ConfigurationError(
        "pins and connection.tls.trustJudge exclude each other", hint: "give the policies to the judge's configuration")
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

  func checked() throws(ConfigurationError) -> CurlSettings {
    try checkLimits()
    try checkRoots()
    return CurlSettings(
      engine: engine, defaults: SharedOptions(connection), environmentProxies: .environment(),
      trustJudge: connection.tls.trustJudge, tlsBytesPerTurn: tlsBytesPerTurn)
  }

  /// Not the system's: a program that speaks no TLS can do without them.
  private func checkRoots() throws(ConfigurationError) {
    guard connection.tls.roots != .system else { return }
    do throws(TransportError) {
      _ = try RootStoreCache.shared.store(for: connection.tls.roots)
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }

  private func checkLimits() throws(ConfigurationError) {
    try ConfigurationError.checkLimits(
      positive: [
        "loops": loops, "connectionsPerHost": connectionsPerHost, "http2StreamsPerHost": http2StreamsPerHost,
        "idleConnections": idleConnections, "coldRequestsPerHost": coldRequestsPerHost,
        "maximumHeadBytes": maximumHeadBytes, "maximumHeaderFields": maximumHeaderFields,
        "maximumDecompressionRatio": maximumDecompressionRatio, "streamBufferBytes": streamBufferBytes,
        "maximumContentCodings": maximumContentCodings,
      ],
      notNegative: [
        "maximumQueuedRequests": maximumQueuedRequests, "maximumInterimResponses": maximumInterimResponses,
      ], contentCodings: maximumContentCodings,
      lifetimes: ["idleLifetime": idleLifetime, "connectionLifetime": connectionLifetime], userAgent: userAgent)
    guard loops <= 64 else {
      throw ConfigurationError(
        "loops is \(loops), above the maximum of 64", hint: "give 1 to 64: one for each core is enough")
    }
  }
}
