// SPDX-License-Identifier: Apache-2.0

internal import Lastro
public import LastroTesting

/// An event of a loopback WebSocket server.
public enum LoopbackWebSocketEvent: Sendable, Hashable {
  /// The request of the handshake arrived.
  case handshake(LoopbackRequest)
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
  /// The client violated the protocol, which is a defect of the client.
  case violation(String)
  /// The client ended the connection.
  case end

  /// The action that sends the message back.
  public var echo: LoopbackWebSocketBehavior.Action {
    switch self {
    case .text(let text): .text(text)
    case .binary(let bytes): .binary(bytes)
    default: .bytes([])
    }
  }
}
