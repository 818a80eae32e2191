// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import Lastro

/// A whole message of a ``WebSocket``.
public enum WebSocketMessage: Sendable, Hashable {
  /// UTF-8 text. Received text has been validated.
  case text(String)
  /// Bytes.
  case binary(Data)

  /// The bytes of the message; text is encoded as UTF-8.
  public var data: Data {
    switch self {
    case .text(let text): Data(text.utf8)
    case .binary(let data): data
    }
  }
}

/// A piece of a message as it arrived, for messages that are too large for memory.
public struct WebSocketFragment: Sendable, Hashable {
  /// Whether the message is text; otherwise it is bytes.
  public var isText: Bool
  /// The decompressed bytes, at most 64 KiB. Text has been validated, but a piece may end within a character.
  public var data: Data
  /// Whether the piece begins a message.
  public var isFirst: Bool
  /// Whether the piece ends the message. Such a piece may be empty.
  public var isFinal: Bool
}

/// The server's response to a ping.
package struct WebSocketPong: Sendable, Hashable {
  /// The payload, which equals that of the ping.
  package var payload: Data
  /// The time from the call until the pong arrived.
  package var roundTrip: Duration
}
