// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The configuration of the sockets of a ``WebSocketClient``.
public struct WebSocketConfiguration: Sendable {
  /// The parameters of permessage-deflate (RFC 7692) that are offered to servers. A server need not accept the offer.
  ///
  /// Do not compress messages that combine secrets with text that an attacker controls: compressed sizes reveal
  /// content.
  public struct Compression: Sendable, Hashable {
    package var minimumBytes: Int
    var offer = WebSocketDeflateOffer()

    /// Creates the parameters of an offer.
    ///
    /// - Parameters:
    ///   - minimumBytes: the size in bytes below which messages are not compressed. Default 1 KiB.
    ///   - serverNoContextTakeover: whether the server must reset its window after each message, which saves memory on
    ///     the client. Default false. A server that does not agree is refused.
    ///   - clientNoContextTakeover: whether the client resets its window after each message. Default false; a server
    ///     may request it in any case.
    ///   - serverMaximumWindowBits: the largest window of the server, 8 to 15 (bits). Default `nil`: the server
    ///     decides. A server that does not agree is refused.
    ///   - clientMaximumWindowBits: the largest window of the client, 8 to 15 (bits). Default `nil`: 15, or the size
    ///     that the server requests. With 8, the client sends uncompressed messages, because zlib does not support that
    ///     window.
    public init(
      minimumBytes: Int = 1024, serverNoContextTakeover: Bool = false, clientNoContextTakeover: Bool = false,
      serverMaximumWindowBits: Int? = nil, clientMaximumWindowBits: Int? = nil
    ) {
      self.minimumBytes = minimumBytes
      offer.serverNoContextTakeover = serverNoContextTakeover
      offer.clientNoContextTakeover = clientNoContextTakeover
      offer.serverMaximumWindowBits = serverMaximumWindowBits
      offer.clientMaximumWindowBits = clientMaximumWindowBits
    }
  }

  /// The use of HTTP/2 for sockets (RFC 8441).
  public enum HTTP2Use: Sendable, Hashable {
    /// Each socket has a connection of its own, over HTTP/1.1.
    case never
    /// A socket is a stream of an HTTP/2 connection of the engine, which it shares with fetches and other sockets, if
    /// the server announces that it accepts this (SETTINGS_ENABLE_CONNECT_PROTOCOL). Otherwise it is opened over
    /// HTTP/1.1.
    case whenAnnounced
  }

  /// The subprotocols to offer, in order of preference; each is a token. Default: none.
  public var subprotocols: [String] = []
  /// The compression to offer. Default `nil`: none.
  public var compression: Compression?
  /// The address to connect to instead of the URL's host: a host name or IP address (IPv6 without brackets), and a
  /// port; `nil` is the port of the URL. The URL's host is still sent in `Host` and, unless ``serverName`` is set, in
  /// TLS. The address does not apply to the targets of redirects. Default `nil`.
  public var address: (host: String, port: Int?)?
  /// The name to send (SNI) and to verify in the certificate, with `wss`. It does not apply to the targets of
  /// redirects. Default `nil`: the URL's host.
  public var serverName: String?
  /// The maximum size in bytes of a received message, after decompression. Default 1 MiB, at least 1. For a larger
  /// message, code 1009 is sent to the server and the socket fails.
  public var maximumMessageBytes = 1 << 20
  /// The maximum size in bytes of a received message that is read in fragments, at least 1. Default `nil`:
  /// ``maximumMessageBytes``. It may not be smaller than that. If it is larger, readers of whole messages are still
  /// limited to the other value.
  public var maximumFragmentedMessageBytes: Int?
  /// The maximum size in bytes of an outgoing frame. Larger messages are split, so that a ping never waits for long.
  /// Default 256 KiB; at least 1, at most 1 GiB.
  public var maximumOutgoingFrameBytes = 256 * 1024
  /// The number of bytes that are kept for observers that have not read them; beyond that nothing more is read from the
  /// server. Default 256 KiB, at least 1.
  public var receiveBufferBytes = 256 * 1024
  /// The interval between pings to the server; positive. Default 25 s, at most 1,000,000,000 s; `nil`: no pings.
  ///
  /// The socket fails if the next ping is due and nothing has arrived from the server since the last ping was sent. A
  /// ping that is still queued behind the socket's own messages does not count as sent. Progress in sending also shows
  /// that the server is alive, if it exceeds 256 KiB per interval, because the layers below may buffer less than that.
  /// See ``WebSocket`` for the times that do not count.
  public var keepAlive: Duration? = .seconds(25)
  /// Whether pings are answered automatically. Default true. If false, respond to ``WebSocket/pings``.
  public var answersPings = true
  /// The time limit for closing; positive. Default 10 s, at most 1,000,000,000 s. When it passes, the connection is
  /// cut.
  public var closeTimeout: Duration = .seconds(10)

  /// The use of HTTP/2. Default ``HTTP2Use/never``.
  ///
  /// ``HTTP2Use/whenAnnounced`` applies to `wss` URLs, and to `ws` URLs of requests whose connection options demand
  /// HTTP/2, if the client's dialer is that of a `CurlNetworkStack`, and neither ``address`` nor ``serverName`` is set.
  /// If no connection to the server is open, one is dialed as for a fetch. A server that does not announce it costs a
  /// second dial, over HTTP/1.1; the first connection stays open for fetches. ``WebSocket/response`` shows the version
  /// that was used. Over HTTP/2, the facts of the socket have no TLS parameters.
  public var http2 = HTTP2Use.never

  /// Whether a socket of ``WebSocketClient/reconnecting(to:headers:policy:stableAfter:onReopen:)`` is closed with code
  /// 1001 and replaced by another when its client certificate or trust rules have changed; see
  /// ``WebSocket/waitUntilOutdated()``. A socket stays open for at least 5 s, and the next one is opened after a random
  /// delay of 1.1 to 3 s. It does not count as a loss. Default false.
  public var reconnectsWhenOutdated = false

  /// Creates the default configuration.
  public init() {}
}

extension WebSocketConfiguration {
  /// - Throws: `invalidArgument` for the first invalid value.
  package func check() throws(WebSocketError) {
    for name in subprotocols {
      guard !name.isEmpty, name.utf8.allSatisfy(FieldSyntax.isToken) else {
        throw .invalid(
          "a subprotocol is empty, or has a character that is not allowed",
          hint: "use letters, digits and !#$%&'*+-.^_`|~")
      }
    }
    guard Set(subprotocols).count == subprotocols.count else {
      throw .invalid("a subprotocol is offered twice", hint: "name each once; RFC 6455 §4.1")
    }
    for (name, value) in [
      ("maximumMessageBytes", maximumMessageBytes),
      ("maximumFragmentedMessageBytes", maximumFragmentedMessageBytes ?? 1),
      ("maximumOutgoingFrameBytes", maximumOutgoingFrameBytes), ("receiveBufferBytes", receiveBufferBytes),
    ] where value <= 0 {
      throw .invalid(
        "WebSocketConfiguration.\(name) is \(value), below the minimum of 1", hint: "give a positive number")
    }
    guard maximumOutgoingFrameBytes <= 1 << 30 else {
      throw .invalid(
        "WebSocketConfiguration.maximumOutgoingFrameBytes is \(maximumOutgoingFrameBytes), above the maximum",
        hint: "give 1 to 1073741824 bytes")
    }
    if let whole = maximumFragmentedMessageBytes, whole < maximumMessageBytes {
      throw .invalid(
        "WebSocketConfiguration.maximumFragmentedMessageBytes is \(whole), below maximumMessageBytes, "
          + "\(maximumMessageBytes)",
        hint: "lower maximumMessageBytes, which holds for every message")
    }
    try checkDurations()
    try checkCompression()
    try checkAddress()
  }

  private func checkDurations() throws(WebSocketError) {
    for (name, value) in [("keepAlive", keepAlive ?? .seconds(1)), ("closeTimeout", closeTimeout)]
    where value <= .zero || value > .seconds(1_000_000_000) {
      throw .invalid(
        "WebSocketConfiguration.\(name) is \(value.brief), which is out of range",
        hint: "give a positive duration, at most 1,000,000,000 s")
    }
  }

  private func checkCompression() throws(WebSocketError) {
    if let minimum = compression?.minimumBytes, minimum < 0 {
      throw .invalid(
        "WebSocketConfiguration.compression.minimumBytes is \(minimum), below the minimum of 0", hint: "give 0 or more")
    }
    for bits in [offer?.serverMaximumWindowBits, offer?.clientMaximumWindowBits] {
      if let bits, !(8...15).contains(bits) {
        throw .invalid("the compression window of \(bits) bits is out of range (8…15)", hint: "give 8 to 15")
      }
    }
  }

  private func checkAddress() throws(WebSocketError) {
    if let port = address?.port, !(1...65_535).contains(port) {
      throw .invalid(
        "the port \(port) of WebSocketConfiguration.address is out of range (1…65535)", hint: "give nil for the URL's")
    }
    if let host = address?.host, host.isEmpty {
      throw .invalid("the host of WebSocketConfiguration.address is empty", hint: "give a name or an address")
    }
  }

  var offer: WebSocketDeflateOffer? { compression?.offer }

  /// - Parameter deflate: the negotiated compression.
  func session(_ deflate: WebSocketDeflate?) -> WebSocketSession.Configuration {
    var session = WebSocketSession.Configuration(decoding(deflate))
    session.minimumCompressedBytes = compression?.minimumBytes ?? 1024
    session.maximumOutgoingFrameBytes = maximumOutgoingFrameBytes
    session.receiveBufferBytes = receiveBufferBytes
    session.keepAlive = keepAlive
    session.answersPings = answersPings
    session.closeTimeout = closeTimeout
    return session
  }

  private func decoding(_ deflate: WebSocketDeflate?) -> WebSocketDecoder.Configuration {
    let message = max(maximumMessageBytes, maximumFragmentedMessageBytes ?? 0)
    // Incompressible data grows by five bytes per stored block, and by those of the flush.
    let growth = deflate == nil ? 0 : message >> 8 + 64
    let (frame, isTooMuch) = message.addingReportingOverflow(growth)
    return WebSocketDecoder.Configuration(
      role: .client, deflate: deflate, maximumFrameBytes: isTooMuch ? .max : frame,
      maximumMessageBytes: message)
  }
}
