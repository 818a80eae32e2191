// SPDX-License-Identifier: Apache-2.0

internal import CLastro
public import Lastro
internal import LastroHTTP

/// The engine's threads, connections, queue, limits and pins. They are validated when the engine is created.
///
/// ```swift
/// let engine = try CurlConfiguration(pins: [PinningPolicy("api.example.com", pins: ["sha256/…", "sha256/…"])])
/// ```
public struct CurlConfiguration: Sendable {
  /// The number of event-loop threads. Default 1, at most 64.
  ///
  /// With several loops, each host has a home loop, which owns its connections and runs its requests. A second loop
  /// helps out while the home has at least 64 more requests than that loop. The other limits apply to all loops
  /// together.
  public var loops = 1
  /// The options of connections for requests without options of their own. Default `ConnectionOptions()`. If its own
  /// roots cannot be read, creating the engine fails; if the roots of a request cannot be read, that request fails.
  public var connection = ConnectionOptions()
  /// The pinning policies of hosts. They apply to every connection of the engine, including those of its dialers. For
  /// hosts without a policy, the chain and the host name are checked as usual. Default none.
  ///
  /// This property is a shorthand for a `ServerTrustEvaluator` as `connection.tls.trustJudge`, which can also refuse
  /// hosts without pins, accept new pins at run time, and report. Creating an engine with both is an error, as are two
  /// policies for one host.
  public var pins: [PinningPolicy]
  /// The maximum number of connections to one host (scheme, name and port). Further requests wait. Default 128, at
  /// least 1.
  ///
  /// With several ``loops``, a quarter of them (rounded down) is reserved for the loop that helps the host's home out,
  /// and the home has the rest. ``http2StreamsPerHost`` and ``coldRequestsPerHost`` are divided likewise. If one of the
  /// three is below 4, no loop helps out and the home has them all.
  public var connectionsPerHost = 128
  /// The maximum number of requests in flight to one HTTP/2 host, over all its connections. Further requests wait.
  /// Default 1,000, at least 1.
  ///
  /// One connection carries at most 100 of them, or fewer if the server sets a lower limit. Another connection is
  /// opened when all streams of the others are in use, up to ``connectionsPerHost``. A stream is in use until its
  /// response ends. Set this above the number of event streams and other long responses that are open to one host at a
  /// time, because requests beyond the limit wait for one of them to end.
  public var http2StreamsPerHost = 1_000
  /// The maximum number of requests that wait for a connection, over all hosts. Further requests fail with
  /// `limit/queue_full`. Default 16,384; 0 or more.
  public var maximumQueuedRequests = 16_384
  /// The maximum number of idle connections, over all hosts. The oldest is closed first. Default 256, at least 1.
  public var idleConnections = 256
  /// The time after which an idle connection is closed. Default 60 s, at least 1 s.
  public var idleLifetime = Duration.seconds(60)
  /// The age at which a connection gets no more requests, so that DNS changes take effect. Default 5 minutes, at least
  /// 1 s.
  public var connectionLifetime = Duration.seconds(300)
  /// The maximum number of connections to one host that are being opened at a time: each may need a thread to resolve
  /// its name. Dialers count their dials separately on each loop. Default 16, at least 1.
  public var coldRequestsPerHost = 16
  /// The maximum size of a response head in bytes; interim heads are counted separately. Default 256 KiB, at least 1.
  /// Over HTTP/2, an encoded field may have at most 64 KiB; a larger one ends the connection.
  public var maximumHeadBytes = 256 * 1024
  /// The maximum number of header fields of a response. Default 500, at least 1.
  public var maximumHeaderFields = 500
  /// The number of interim (1xx) responses that a server may send at once without progress. A hundred per second are
  /// free, and so is one for each 16 bytes of the request's body that are sent. Default 32; with 0, any interim
  /// response is refused (`limit/too_many_interim_responses`).
  public var maximumInterimResponses = 32
  /// Whether `Accept-Encoding` is sent and compressed bodies are decoded, unless the request sets that field or `Range`.
  /// The header fields are reported as the server sent them. Default true.
  public var decompresses = true
  /// The content codings of responses, in the order of preference in which `Accept-Encoding` lists them. A body in
  /// another coding is refused (`response/bad_content_encoding`). Default gzip and deflate. An empty list and a name
  /// that occurs twice are errors when the engine is created.
  ///
  /// `LastroZstd` adds `.zstd`, and `LastroBrotli` adds `.brotli`: `configuration.codings = [.zstd, .brotli, .gzip]`.
  public var codings: [ContentCoding] = [.gzip, .deflate]
  /// The maximum memory that the decoders of other codings than gzip and deflate hold for all bodies together, in
  /// bytes. A body that needs more fails at once (`limit/decoding_memory_full`). zstd needs up to 8 MiB for a body, and
  /// Brotli up to 16 MiB, as the server chooses, so a server that is not trusted may use up the memory of all: give it
  /// an engine of its own. Default 256 MiB, at least 1.
  public var maximumWindowBytes = 256 << 20
  /// Whether responses are refused whose `Content-Encoding` has empty members or names that are not codings: `none`,
  /// `utf-8` and `aws-chunked`. Default false: such names have no effect, because servers send them for bodies that have
  /// no coding.
  public var refusesMisnamedCodings = false
  /// The maximum number of content codings that are applied to one body. A response with more is refused at its head
  /// (`response/bad_content_encoding`). `identity` does not count. gzip and deflate need 40 KiB each to decode;
  /// ``maximumWindowBytes`` limits the memory of others. Default 1, at most 8.
  public var maximumContentCodings = 1
  /// The maximum ratio of decoded to compressed size for a streamed body, after the first 32 MiB. A body that exceeds
  /// it is refused. Default 250, at least 1.
  public var maximumDecompressionRatio = 250
  /// The number of bytes buffered for the reader of a streamed body before the server is slowed down, at least 1.
  /// Memory is allocated as bytes arrive. Default 1 MiB: each time the buffer fills, reader and event loop have to wake
  /// each other. For a slow reader the engine holds additional undecoded bytes: one read of up to 128 KiB, and over
  /// HTTP/2 up to the stream's window, which is 1 MiB, or more if the reader kept up before.
  public var streamBufferBytes = 1 << 20
  /// The `User-Agent` of requests that have none; `nil` sends none. Control characters are refused. Default `Lastro/`
  /// and the version.
  public var userAgent: String? = "Lastro/\(PackageVersion.text)"
  /// Whether `Accept: */*` is sent if neither the request nor the stack sets `Accept`. Default true.
  package var sendsAccept = true
  /// A closure that is called when HTTP connections are opened, used and closed; those of dialers are not reported. It
  /// runs on the loop's thread, which waits for it, so hand long work over to another thread. The changes of one
  /// connection are reported one after another. Default `nil`.
  public var connectionObserver: (@Sendable (ConnectionChange) -> Void)?

  /// The settings of the engine that have no property above; tests change them.
  var engine = EngineSettings()
  /// The number of bytes that one TLS connection may read per turn of the loop; tests lower it.
  var tlsBytesPerTurn = Int(CLASTRO_TURN_BYTES)

  /// Creates a configuration. Everything else is a property with a default.
  ///
  /// - Parameter pins: the pinning policies of hosts. Default none.
  public init(pins: [PinningPolicy] = []) { self.pins = pins }

  /// Exists only so that the compiler can name the property to use.
  @available(*, unavailable, renamed: "connection.proxy")
  public var proxy: ProxyOptions {
    get { connection.proxy }
    set { connection.proxy = newValue }
  }
  /// Exists only so that the compiler can name the property to use.
  @available(*, unavailable, renamed: "connectionsPerHost")
  public var maxConnectionsPerHost: Int {
    get { connectionsPerHost }
    set { connectionsPerHost = newValue }
  }

  /// The settings of the engine, with the values of the properties above.
  private var engineSettings: EngineSettings {
    var settings = engine
    settings.connectionsPerHost = connectionsPerHost
    settings.http2StreamsPerHost = http2StreamsPerHost
    settings.maximumQueuedRequests = maximumQueuedRequests
    settings.idleConnections = idleConnections
    settings.idleLifetime = idleLifetime
    settings.connectionLifetime = connectionLifetime
    settings.dialsPerHost = coldRequestsPerHost
    settings.maximumHeadBytes = maximumHeadBytes
    settings.maximumHeaderFields = maximumHeaderFields
    settings.maximumInterimResponses = maximumInterimResponses
    settings.decompresses = decompresses
    settings.codings = codings
    settings.maximumWindowBytes = maximumWindowBytes
    settings.refusesMisnamedCodings = refusesMisnamedCodings
    // The loops share it.
    settings.decodingMemory = DecodingMemory(limit: maximumWindowBytes)
    settings.maximumContentCodings = maximumContentCodings
    settings.maximumDecompressionRatio = maximumDecompressionRatio
    settings.streamBufferBytes = streamBufferBytes
    settings.userAgent = userAgent
    settings.sendsAccept = sendsAccept
    settings.connectionObserver = connectionObserver
    return settings
  }

  /// Returns the options of connections, with the pins.
  private func pinnedConnection() throws(ConfigurationError) -> ConnectionOptions {
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

  /// Returns the values that the engine needs.
  ///
  /// - Throws: the reason why a value is not valid.
  func checked() throws(ConfigurationError) -> CurlSettings {
    let connection = try pinnedConnection()
    let engine = engineSettings
    try engine.check(positive: [
      "loops": loops, "http2StreamsPerHost": http2StreamsPerHost, "idleConnections": idleConnections,
      "coldRequestsPerHost": coldRequestsPerHost,
    ])
    guard loops <= 64 else {
      throw ConfigurationError(
        "loops is \(loops), above the maximum of 64", hint: "give 1 to 64: one for each core is enough")
    }
    try checkRoots()
    return CurlSettings(
      engine: engine, defaults: SharedOptions(connection), environmentProxies: .environment(),
      tlsBytesPerTurn: tlsBytesPerTurn)
  }

  /// Validates explicitly configured roots. The system's roots are not read here, because a program without TLS does
  /// not need them.
  private func checkRoots() throws(ConfigurationError) {
    guard connection.tls.roots != .system else { return }
    do throws(TransportError) {
      _ = try RootStore.shared(connection.tls.roots)
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }
}
