// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A message of a ``WebSocket``, whole.
public enum WebSocketMessage: Sendable, Hashable {
  /// UTF-8 text. What comes in was checked.
  case text(String)
  /// Bytes.
  case binary(Data)

  /// Which of the two.
  public enum Kind: Sendable, Hashable {
    /// UTF-8 text.
    case text
    /// Bytes.
    case binary
  }

  /// Which of the two.
  public var kind: Kind {
    switch self {
    case .text: .text
    case .binary: .binary
    }
  }

  /// Its bytes; of a text, in UTF-8.
  public var data: Data {
    switch self {
    case .text(let text): Data(text.utf8)
    case .binary(let data): data
    }
  }
}

/// A piece of a message that is coming in, as it came off the wire: for messages too large for memory.
public struct WebSocketFragment: Sendable, Hashable {
  /// What the message is.
  public var kind: WebSocketMessage.Kind
  /// At most 64 KiB, decompressed. Text was checked, but a piece may end within a character.
  public var data: Data
  /// Whether it begins a message.
  public var isFirst: Bool
  /// Whether it ends the message. Such a piece may be empty.
  public var isFinal: Bool

  /// Makes a fragment, for tests.
  public init(kind: WebSocketMessage.Kind, data: Data, isFirst: Bool, isFinal: Bool) {
    self.kind = kind
    self.data = data
    self.isFirst = isFirst
    self.isFinal = isFinal
  }
}

/// What a server sent back for a ping.
public struct WebSocketPong: Sendable, Hashable {
  /// The payload, that of the ping.
  public var payload: Data
  /// From the moment the ping was handed over until the pong came.
  public var roundTrip: Duration

  /// Makes a pong, for tests.
  public init(payload: Data, roundTrip: Duration) {
    self.payload = payload
    self.roundTrip = roundTrip
  }
}
