// SPDX-License-Identifier: Apache-2.0

internal import Lastro
public import LastroTesting

/// The behavior of a loopback WebSocket server, valid or invalid.
///
/// By default it accepts every handshake, echoes every message, answers pings and closes properly.
public struct LoopbackWebSocketBehavior: Sendable {
  /// The response to a handshake that is accepted.
  package enum Handshake: Sendable {
    /// 101, as defined by RFC 6455 §4.2.2.
    case accept
    /// 101 with a `Sec-WebSocket-Accept` for another key.
    case wrongAccept
    /// 101 with these header fields instead of the server's; `Sec-WebSocket-Accept` is correct.
    case fields([RawRequestHead.Field])
    /// These bytes, without a WebSocket after them.
    case bytes([UInt8])
    /// No response; the connection stays open.
    case silence
  }

  /// The permessage-deflate parameters that the server accepts if the client offers it (RFC 7692).
  package struct Compression: Sendable, Hashable {
    /// Whether the server resets its window after each message.
    package var serverNoContextTakeover = false
    /// Whether the client must reset its window after each message.
    package var clientNoContextTakeover = false
    /// The size of the server's window in bits, 8 to 15.
    package var serverWindowBits = 15
    /// The size of the client's window in bits, 8 to 15.
    package var clientWindowBits = 15
    /// The size in bytes below which messages are not compressed.
    package var minimumBytes = 0

    /// Creates parameters that accept the client's offer.
    package init() {}
  }

  /// An action of the server.
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
    /// A Close frame. Later frames are ignored, and the connection ends when the client's Close frame arrives.
    case close(UInt16?, String)
    /// The given bytes, unchanged, such as a frame that violates a rule.
    case bytes([UInt8])
    /// Ends the connection properly.
    case end
    /// Ends the connection without close_notify, as if it were cut.
    case cut
    /// Continues to read, but sends nothing more.
    case fallSilent

    /// Returns the action that sends a frame that violates a rule.
    package static func fault(_ fault: Fault) -> Self { .bytes(fault.bytes) }
  }

  /// A violation of a rule of RFC 6455.
  package enum Fault: Sendable, Hashable, CaseIterable {
    /// A masked frame.
    case maskedFrame
    /// RSV1 without an extension.
    case reservedBit
    /// RSV3.
    case otherReservedBit
    /// Opcode 3.
    case reservedOpcode
    /// A text frame that is not UTF-8.
    case invalidUTF8
    /// A text whose second fragment breaks off a character that the first one began.
    case splitInvalidUTF8
    /// A ping of 126 bytes.
    case longControl
    /// A ping in two fragments.
    case fragmentedControl
    /// A continuation without a preceding fragment.
    case strayContinuation
    /// A message within another message.
    case interleavedMessage
    /// A length that is encoded in more bytes than necessary.
    case wastefulLength
    /// A length with its highest bit set.
    case negativeLength
    /// A frame that announces 2 to the power of 40 bytes.
    case hugeFrame
    /// A Close frame of one byte.
    case shortClose
    /// A Close frame with the code 1005.
    case invalidCloseCode
    /// A Close frame whose reason is not UTF-8.
    case invalidCloseReason
  }

  /// A closure that returns another response to the request of a handshake, such as 401 or a redirect, after which the
  /// connection is closed; `nil` accepts the handshake. Default: accepts every handshake.
  public var onHandshake: @Sendable (LoopbackRequest) -> LoopbackResponse? = { _ in nil }
  /// The response to a handshake that is accepted. Default ``Handshake/accept``.
  package var handshake = Handshake.accept
  /// The subprotocol that the server chooses, offered or not. Default: none.
  public var subprotocol: String?
  /// Whether the server accepts compression if the client offers it (permessage-deflate, RFC 7692). Default false.
  public var compresses: Bool {
    get { compression != nil }
    set { compression = newValue ? Compression() : nil }
  }
  /// The compression that the server accepts. Default `nil`: none.
  package var compression: Compression?
  /// The actions after the socket was opened. Default: none.
  public var greeting: [Action] = []
  /// A closure that returns the actions for a message. Default: an echo.
  public var onMessage: @Sendable (LoopbackWebSocketEvent) -> [Action] = { [$0.echo] }
  /// Whether pings are answered. Default true.
  public var answersPings = true
  /// Whether a Close frame is answered and the connection is then ended. Default true.
  public var answersClose = true
  /// The size in bytes of the fragments in which messages are sent. Default `nil`: one fragment.
  package var fragmentBytes: Int?
  /// The size in bytes of the pieces that are written; 1 writes one byte at a time. Default `nil`: no splitting.
  package var pieceBytes: Int?

  /// Creates the behavior of an echo server.
  public init() {}
}
