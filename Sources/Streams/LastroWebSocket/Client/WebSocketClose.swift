// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The result of closing a WebSocket.
public struct WebSocketClose: Sendable, Hashable {
  /// The side that sent its Close first.
  public enum Initiator: Sendable, Hashable {
    /// The local side.
    case local
    /// The server.
    case remote
  }

  /// The code in the server's Close frame; `nil` if it had none, or if no Close frame was received.
  public var code: WebSocketCloseCode?
  /// The reason in the server's Close frame; empty if it had none.
  public var reason: String
  /// Whether both sides sent a Close frame. False if the server did not answer ours in time, or cut the connection.
  public var isClean: Bool
  /// The side that sent its Close first.
  public var initiator: Initiator

  /// Creates a result, for tests.
  package init(code: WebSocketCloseCode?, reason: String, isClean: Bool, initiator: Initiator) {
    self.code = code
    self.reason = reason
    self.isClean = isClean
    self.initiator = initiator
  }

  init(_ close: WebSocketSession.Close) {
    self.init(
      code: close.code.map(WebSocketCloseCode.init), reason: close.reason, isClean: close.isClean,
      initiator: close.initiator == .local ? .local : .remote)
  }
}

/// The state of a ``WebSocket``. Transitions only go forward.
public enum WebSocketState: Sendable {
  /// Messages can be sent and received.
  case open
  /// The closing has begun, on either side.
  case closing
  /// The socket was closed by a Close frame of at least one side; see ``WebSocketClose/isClean``. A final state.
  case closed(WebSocketClose)
  /// The socket ended without a Close frame. A final state.
  case failed(WebSocketError)

  /// Whether the state is final.
  var isTerminal: Bool {
    switch self {
    case .open, .closing: false
    case .closed, .failed: true
    }
  }
}
