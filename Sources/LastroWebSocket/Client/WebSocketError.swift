// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// Why something asked of a ``WebSocket`` did not happen, or why it ended.
public struct WebSocketError: Error, Sendable, CustomStringConvertible, CancellationTelling {
  /// The failure by kind. Other kinds may come: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable {
    /// There is no WebSocket: the request could not be made, no server answered, or the answer was not 101. Status,
    /// body and attempts are in the error.
    case handshake(HTTPFetchError<any Error>)
    /// A value that cannot be honoured; nothing was sent.
    case invalidArgument
    /// It is closed, or about to be; the ending where it is known. Of a message that already waited when the closing
    /// began, a part may have been sent; of a later one nothing was.
    case closed(WebSocketClose?)
    /// The connection ended without a Close frame, or takes nothing more. In the second case what the server had sent
    /// is still read, and the socket may come to be closed by its Close frame.
    case connectionLost(TransportError?)
    /// The server broke the protocol, and was told so with this code.
    case protocolViolation(WebSocketCloseCode)
    /// The server sent a message or a frame beyond the limits; it was told so with code 1009.
    case messageTooLarge
    /// ``WebSocketReconnection/onReopen`` threw this; the socket that was opened anew is cut.
    case reopeningRefused(any Error)
    /// No pong came for a keep-alive ping.
    case keepAliveFailed
    /// A limit in time passed; the socket goes on.
    case timedOut
    /// The task was cancelled; the socket goes on, unless a message that was being sent in fragments was left
    /// unfinished.
    case cancelled
    /// A message that was sent in fragments was given up midway, which nothing but the end of the socket can tell the
    /// server.
    case messageAbandoned
    /// We cut the connection: ``WebSocket/cut()`` was called, or the last reference to the socket was dropped.
    case dropped
  }

  /// The failure by kind.
  public let reason: Reason
  /// One readable sentence, free of secrets and of what messages held.
  public let message: String
  /// How to fix it, where there is a usual remedy.
  public let hint: String?

  init(_ reason: Reason, _ message: String, hint: String? = nil) {
    self.reason = reason
    self.message = message
    self.hint = hint
  }

  /// The step at which it failed, as the command line tells it.
  public var stage: FailureStage {
    switch reason {
    case .handshake(let error): error.stage
    case .invalidArgument, .closed, .dropped: .request
    case .connectionLost, .reopeningRefused, .protocolViolation: .response
    case .messageTooLarge: .limit
    case .keepAliveFailed, .timedOut: .timeout
    case .messageAbandoned: .send
    case .cancelled: .cancelled
    }
  }

  /// Why, as a stable word.
  public var code: FailureCode {
    switch reason {
    case .handshake(let error): error.code
    case .invalidArgument: .invalidOption
    case .closed, .dropped: .streamClosed
    case .connectionLost(let error): error?.code ?? .connectionLost
    case .reopeningRefused: .connectionLost
    case .protocolViolation: .protocolViolation
    case .messageTooLarge: .bodyTooLarge
    case .keepAliveFailed, .timedOut: .idleTimeout
    case .messageAbandoned: .sendFailed
    case .cancelled: .cancelled
    }
  }

  /// Whether the caller's cancellation is the reason.
  public var isCancelled: Bool {
    switch reason {
    case .cancelled: true
    case .handshake(let error): error.isCancelled
    default: false
    }
  }

  /// One line: stage, code and message.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}

extension WebSocketViolation {
  /// The remedy, which the server's owner has.
  package var hint: String { "the server does not follow RFC 6455: report it to its owner" }
}

extension WebSocketError {
  static func invalid(_ message: String, hint: String) -> Self { Self(.invalidArgument, message, hint: hint) }

  static let cancelled = Self(.cancelled, "the task was cancelled")

  static func lacksPong(within limit: Duration?) -> Self {
    Self(
      .timedOut, "no pong came within \(limit?.brief ?? "the timeout of the ping")",
      hint: "raise the timeout of the ping, or connect anew: the server or the network may be gone")
  }

  static func closed(_ close: WebSocketClose?) -> Self {
    Self(.closed(close), "the WebSocket is closed", hint: "connect anew, or use ReconnectingWebSocket")
  }

  static func silence(_ keepAlive: Duration) -> Self {
    Self(
      .keepAliveFailed, "no pong came within \(keepAlive.brief)",
      hint: "connect anew: the server or the network is gone")
  }

  static let abandoned = Self(
    .messageAbandoned, "the application abandoned a message after its first fragments",
    hint: "finish each message that is begun")
  static let cut = Self(
    .dropped, "the application cut the WebSocket", hint: "connect anew; close() ends it in good order")
  static let dropped = Self(
    .dropped, "the application let go of the WebSocket", hint: "keep a reference, or close it")
  static let noStream = Self(
    .connectionLost(nil), "the server accepted the handshake and closed the connection",
    hint: "connect anew, or ask the server's owner why")

  static func refusedReopening(_ error: any Error) -> Self {
    Self(
      .reopeningRefused(error), "onReopen refused the socket that was opened anew: it threw \(type(of: error))",
      hint: "look at what it threw, which is in the error's reason")
  }

  static func tooLong(_ limit: Int) -> Self {
    Self(
      .messageTooLarge, "a message has more than \(limit.counted("byte"))", hint: "read fragments, or raise the limit")
  }

  init(handshake error: HTTPFetchError<any Error>) {
    self.init(.handshake(error), "the WebSocket was not opened: \(error.message)", hint: error.hint)
  }

  init(_ violation: WebSocketViolation) {
    switch violation.kind {
    case .messageTooLarge, .frameTooLarge:
      self.init(
        .messageTooLarge, violation.message,
        hint: "raise WebSocketConfiguration.maximumMessageBytes, or read fragments")
    default:
      self.init(
        .protocolViolation(WebSocketCloseCode(rawValue: violation.closeCode)), violation.message,
        hint: violation.hint)
    }
  }

  init(lost error: TransportError?) {
    self.init(
      .connectionLost(error), error.map { "the connection ended: \($0.message)" } ?? "the server ended the connection",
      hint: "connect anew, or use ReconnectingWebSocket")
  }
}
