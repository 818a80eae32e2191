// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// The reason for closing a WebSocket, as a number (RFC 6455 §7.4). Unknown numbers are valid.
public struct WebSocketCloseCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The number.
  public let rawValue: UInt16

  /// Creates a code from a number.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// 1000: the purpose is fulfilled.
  public static let normal = Self(rawValue: 1000)
  /// 1001: the server is shutting down, or the client is leaving.
  public static let goingAway = Self(rawValue: 1001)
  /// 1002: the peer violated the protocol.
  public static let protocolError = Self(rawValue: 1002)
  /// 1003: the kind of message is not supported.
  public static let unsupportedData = Self(rawValue: 1003)
  /// 1007: the data does not match its kind, such as text that is not UTF-8.
  public static let invalidPayload = Self(rawValue: 1007)
  /// 1008: the message violates a policy.
  public static let policyViolation = Self(rawValue: 1008)
  /// 1009: the message is too large.
  public static let messageTooBig = Self(rawValue: 1009)
  /// 1011: an unexpected condition prevented the request from being served.
  public static let internalError = Self(rawValue: 1011)
  /// 1012: the service is restarting.
  public static let serviceRestart = Self(rawValue: 1012)
  /// 1013: try again later.
  public static let tryAgainLater = Self(rawValue: 1013)
  /// 1014: a gateway received an invalid response.
  public static let badGateway = Self(rawValue: 1014)

  /// Whether the code may be sent: 1000 to 1003, 1007 to 1014, 3000 to 4999. 1005, 1006 and 1015 are never sent.
  package var maySend: Bool { WebSocketCloseRules.isValid(rawValue) }

  /// The number.
  public var description: String { "\(rawValue)" }
}
