// SPDX-License-Identifier: Apache-2.0

internal import Lastro
public import LastroTesting

/// What a loopback WebSocket server does, rightly or wrongly.
///
/// By default it accepts every handshake, echoes every message, answers pings and closes as it should.
public struct LoopbackWebSocketBehavior: Sendable {
  /// What it answers to the handshake.
  public enum Handshake: Sendable {
    /// 101, as RFC 6455 §4.2.2 has it.
    case accept
    /// 101 with a `Sec-WebSocket-Accept` for another key.
    case wrongAccept
    /// 101 with these header fields instead of its own; `Sec-WebSocket-Accept` is right.
    case fields([RawRequestHead.Field])
    /// Another answer, such as 401, or a redirect. The connection is closed behind it.
    case answer(@Sendable (RawRequestHead) -> LoopbackResponse?)
    /// These bytes, and no WebSocket behind them.
    case bytes([UInt8])
    /// No answer; the connection stays open.
    case silence
  }

  /// permessage-deflate as it is agreed to, where the client offers it (RFC 7692).
  public struct Compression: Sendable, Hashable {
    /// Whether the server forgets its window after each message.
    public var serverNoContextTakeover = false
    /// Whether the client has to.
    public var clientNoContextTakeover = false
    /// Bits of the server's window, 8 to 15.
    public var serverWindowBits = 15
    /// Bits of the client's window, 8 to 15.
    public var clientWindowBits = 15
    /// Smaller messages are not compressed.
    public var minimumBytes = 0

    /// Agrees to what is offered.
    public init() {}
  }

  /// Something it sends, or does.
  public enum Action: Sendable, Hashable {
    /// A text message.
    case text(String)
    /// A binary message.
    case binary([UInt8])
    /// A text message in these fragments.
    case textFragments([[UInt8]])
    /// A ping.
    case ping([UInt8])
    /// A pong.
    case pong([UInt8])
    /// A Close frame; what comes then is ignored, and the connection ends when the client's Close frame comes.
    case close(UInt16?, String)
    /// A frame that breaks a rule.
    case fault(Fault)
    /// Any bytes.
    case bytes([UInt8])
    /// Ends the connection in order.
    case end
    /// Ends the connection as a cut wire would: without close_notify.
    case cut
    /// Reads on, but sends nothing more.
    case fallSilent
  }

  /// A rule of RFC 6455 that is broken.
  public enum Fault: Sendable, Hashable, CaseIterable {
    /// A masked frame.
    case maskedFrame
    /// RSV1 without an extension.
    case reservedBit
    /// RSV3.
    case otherReservedBit
    /// Opcode 3.
    case reservedOpcode
    /// A text frame that is no UTF-8.
    case invalidUTF8
    /// A text whose second fragment breaks off a character that its first began.
    case splitInvalidUTF8
    /// A ping of 126 bytes.
    case longControl
    /// A ping in two fragments.
    case fragmentedControl
    /// A continuation of nothing.
    case strayContinuation
    /// A message within a message.
    case interleavedMessage
    /// A length in more bytes than it needs.
    case wastefulLength
    /// A length with its highest bit set.
    case negativeLength
    /// A frame that announces 2 to the 40th bytes.
    case hugeFrame
    /// A Close frame of one byte.
    case shortClose
    /// A Close frame with the code 1005.
    case invalidCloseCode
    /// A Close frame whose reason is not UTF-8.
    case invalidCloseReason
  }

  /// Default ``Handshake/accept``.
  public var handshake = Handshake.accept
  /// The subprotocol that it chooses, offered or not. Default none.
  public var subprotocol: String?
  /// Default `nil`: compression is not agreed to.
  public var compression: Compression?
  /// What it does when the socket is open. Default nothing.
  public var greeting: [Action] = []
  /// What it does for a message. Default: an echo.
  public var onMessage: @Sendable (LoopbackWebSocketEvent) -> [Action] = { [$0.echo] }
  /// Whether pings are answered. Default true.
  public var answersPings = true
  /// Whether a Close frame is answered, and the connection then ended. Default true.
  public var answersClose = true
  /// Messages are sent in fragments of so many bytes. Default `nil`: in one.
  public var fragmentBytes: Int?
  /// Bytes are written in pieces of so many. Default `nil`: as they are. 1 is one byte at a time.
  public var pieceBytes: Int?

  /// An echo server.
  public init() {}
}

/// What a loopback WebSocket server has met.
public enum LoopbackWebSocketEvent: Sendable, Hashable {
  /// The handshake's request came.
  case handshake(RawRequestHead)
  /// A text message.
  case text(String)
  /// A binary message.
  case binary([UInt8])
  /// A ping.
  case ping([UInt8])
  /// A pong.
  case pong([UInt8])
  /// A Close frame.
  case close(UInt16?, String)
  /// The client broke the protocol: a defect of the client.
  case violation(String)
  /// The client ended the connection.
  case end

  /// The message back.
  public var echo: LoopbackWebSocketBehavior.Action {
    switch self {
    case .text(let text): .text(text)
    case .binary(let bytes): .binary(bytes)
    default: .bytes([])
    }
  }
}
