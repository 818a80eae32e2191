// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// How a ``WebSocketClient`` speaks.
public struct WebSocketConfiguration: Sendable {
  /// permessage-deflate (RFC 7692), as it is offered to servers. A server need not accept it.
  ///
  /// Do not compress what has secrets and text of an attacker's choice in one message: sizes tell about contents.
  public struct Compression: Sendable, Hashable {
    /// Messages that have fewer bytes are sent as they are. Default 1 KiB.
    public var minimumBytes = 1024
    /// Whether the server shall forget its window after each message, which saves us memory. Default false. A server
    /// that does not agree is refused.
    public var serverNoContextTakeover = false
    /// Whether we forget ours after each message. Default false; a server may ask for it in any case.
    public var clientNoContextTakeover = false
    /// The largest window of the server, 8 to 15 (bits). Default `nil`: the server's choice. A server that does not
    /// agree is refused.
    public var serverMaximumWindowBits: Int?
    /// Our own largest window, 8 to 15 (bits). Default `nil`: 15, or what the server asks for. With 8 we send
    /// uncompressed, for zlib knows no such window.
    public var clientMaximumWindowBits: Int?

    /// Makes the default options.
    public init() {}
  }

  /// Where to connect to instead of the URL's host.
  public struct Address: Sendable, Hashable {
    /// Name or address; IPv6 without brackets.
    public var host: String
    /// Port; `nil` for the URL's.
    public var port: Int?

    /// Makes an address. Without a port, that of the URL's scheme is taken.
    public init(host: String, port: Int? = nil) {
      self.host = host
      self.port = port
    }
  }

  /// Subprotocols to offer, best first; each a token. Default none.
  public var subprotocols: [String] = []
  /// Default `nil`: none is offered.
  public var compression: Compression?
  /// Where to connect to instead of the URL's host, whose name then stands in `Host` and, unless ``serverName`` says
  /// otherwise, in TLS. Not used for where redirects lead to. Default `nil`.
  public var address: Address?
  /// Name to send (SNI) and to check the certificate for, with `wss`. Default `nil`: the URL's host. Not used for where
  /// redirects lead to.
  public var serverName: String?
  /// Most bytes of a message that comes in, decompressed. Default 1 MiB, at least 1. The server is told code 1009 and
  /// the socket fails.
  public var maximumMessageBytes = 1 << 20
  /// Most bytes of a message that comes in and is read in fragments, at least 1. Default `nil`:
  /// ``maximumMessageBytes``. Where it is larger, readers of whole messages are still held to the other. It may not be
  /// smaller.
  public var maximumFragmentedMessageBytes: Int?
  /// Most bytes of a data frame that comes in, as sent; at least 1. Default `nil`: what the message may have, and where
  /// compression is agreed on, what it may grow by when it does not compress.
  public var maximumFrameBytes: Int?
  /// Messages that have more bytes are sent in frames of so many, so that a ping never waits for long. Default 256 KiB;
  /// at least 1, at most 1 GiB.
  public var maximumOutgoingFrameBytes = 256 * 1024
  /// Bytes of messages that are kept for observers who have not read them; then nothing more is read from the server.
  /// Default 256 KiB, at least 1.
  public var receiveBufferBytes = 256 * 1024
  /// The interval at which the server is pinged; positive. Default 25 s, at most 1,000,000,000 s; `nil` for never.
  ///
  /// The socket fails when the next ping is due and nothing has come from the server since the last one was sent. One
  /// that still waits behind messages of the socket's own has not been sent, and messages that the server takes show
  /// that it is there: more than 256 KiB in an interval, for the layers below may buffer fewer. See ``WebSocket`` for
  /// what does not count.
  public var keepAlive: Duration? = .seconds(25)
  /// Whether pings are answered by themselves. Default true. When false, answer ``WebSocket/pings``.
  public var answersPings = true
  /// How long closing may take; positive. Default 10 s, at most 1,000,000,000 s. Then the connection is cut.
  public var closeTimeout: Duration = .seconds(10)

  /// Makes the default configuration.
  public init() {}
}

extension WebSocketConfiguration {
  /// - Throws: `invalidArgument`.
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
      ("maximumFrameBytes", maximumFrameBytes ?? 1), ("maximumOutgoingFrameBytes", maximumOutgoingFrameBytes),
      ("receiveBufferBytes", receiveBufferBytes),
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
    for bits in [compression?.serverMaximumWindowBits, compression?.clientMaximumWindowBits] {
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

  var offer: WebSocketDeflateOffer? {
    compression.map {
      var offer = WebSocketDeflateOffer()
      offer.serverNoContextTakeover = $0.serverNoContextTakeover
      offer.clientNoContextTakeover = $0.clientNoContextTakeover
      offer.serverMaximumWindowBits = $0.serverMaximumWindowBits
      offer.clientMaximumWindowBits = $0.clientMaximumWindowBits
      return offer
    }
  }

  /// - Parameter deflate: what was agreed on.
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
    // What does not compress grows: by five bytes for each block that is stored, and those of the flush.
    let growth = deflate == nil ? 0 : message >> 8 + 64
    let (frame, isTooMuch) = message.addingReportingOverflow(growth)
    return WebSocketDecoder.Configuration(
      role: .client, deflate: deflate, maximumFrameBytes: maximumFrameBytes ?? (isTooMuch ? .max : frame),
      maximumMessageBytes: message)
  }
}
