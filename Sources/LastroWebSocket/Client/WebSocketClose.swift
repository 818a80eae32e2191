// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// Why a WebSocket is closed, as a number (RFC 6455 §7.4). An open set.
public struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt16

  /// Wraps a number.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 1000: the purpose is fulfilled.
  public static let normal = Self(rawValue: 1000)
  /// 1001: a server goes down, or a client leaves.
  public static let goingAway = Self(rawValue: 1001)
  /// 1002: the peer broke the protocol.
  public static let protocolError = Self(rawValue: 1002)
  /// 1003: a kind of message that is not accepted.
  public static let unsupportedData = Self(rawValue: 1003)
  /// 1007: data that does not fit its kind, such as text that is no UTF-8.
  public static let invalidPayload = Self(rawValue: 1007)
  /// 1008: a message that breaks a policy.
  public static let policyViolation = Self(rawValue: 1008)
  /// 1009: a message that is too large.
  public static let messageTooBig = Self(rawValue: 1009)
  /// 1010: an extension that the client needs was not agreed on.
  public static let mandatoryExtension = Self(rawValue: 1010)
  /// 1011: an unexpected condition prevented an answer.
  public static let internalError = Self(rawValue: 1011)
  /// 1012: the service restarts.
  public static let serviceRestart = Self(rawValue: 1012)
  /// 1013: try again later.
  public static let tryAgainLater = Self(rawValue: 1013)
  /// 1014: a gateway got an invalid answer.
  public static let badGateway = Self(rawValue: 1014)

  /// Whether it may be sent: 1000 to 1003, 1007 to 1014, 3000 to 4999. 1005, 1006 and 1015 never are.
  public var maySend: Bool { WebSocketCloseRules.isValid(rawValue) }

  /// The number.
  public var description: String { "\(rawValue)" }
}

/// How a WebSocket came to its end.
public struct WebSocketClose: Sendable, Hashable {
  /// The side that sent its Close first.
  public enum Initiator: Sendable, Hashable {
    /// We did.
    case local
    /// The server did.
    case remote
  }

  /// The code in the server's Close frame; `nil` where it had none, or none came.
  public var code: WebSocketCloseCode?
  /// The reason in the server's Close frame; empty where it had none.
  public var reason: String
  /// Whether both sides sent a Close frame. False when the server did not answer ours in time, or cut the connection.
  public var isClean: Bool
  /// The side that sent its Close first.
  public var initiator: Initiator

  /// Makes a close, for tests.
  public init(code: WebSocketCloseCode?, reason: String, isClean: Bool, initiator: Initiator) {
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

/// Where a ``WebSocket`` is in its life. There is no way back.
public enum WebSocketState: Sendable {
  /// Messages flow.
  case open
  /// One side has begun to close it.
  case closing
  /// Closed by a Close frame of one side at least; see ``WebSocketClose/isClean``. The last state.
  case closed(WebSocketClose)
  /// Ended without one. The last state.
  case failed(WebSocketError)

  /// Whether it is one of the last.
  public var isTerminal: Bool {
    switch self {
    case .open, .closing: false
    case .closed, .failed: true
    }
  }
}
