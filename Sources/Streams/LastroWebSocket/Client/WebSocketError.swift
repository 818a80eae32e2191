// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

/// The reason why an operation of a ``WebSocket`` failed, or why the socket ended.
public struct WebSocketError: Error, Sendable, CustomStringConvertible, CancellationTelling {
  /// The kind of failure. Cases may be added: a `switch` needs an `@unknown default`.
  @nonexhaustive
  public enum Reason: Sendable {
    /// The socket was not opened: the request could not be made, no server responded, or the response was not 101. The
    /// error has status, body and attempts.
    case handshake(HTTPFetchError<any Error>)
    /// A value is invalid; nothing was sent.
    case invalidArgument
    /// The socket is closed or closing; the associated value has the result if it is known. A message that was already
    /// queued when the closing began may have been sent in part. A later message was not sent at all.
    case closed(WebSocketClose?)
    /// The connection ended without a Close frame, or can no longer send. In the second case data from the server is
    /// still read, and the socket may still be closed by its Close frame.
    case connectionLost(TransportError?)
    /// The server violated the protocol; this code was sent to it.
    case protocolViolation(WebSocketCloseCode)
    /// The server sent a message or a frame beyond the limits; code 1009 was sent to it.
    case messageTooLarge
    /// The closure `onReopen` of a client that reconnects threw this error; the reopened socket was cut.
    case reopeningRefused(any Error)
    /// No pong came for a keep-alive ping.
    case keepAliveFailed
    /// A time limit passed; the socket stays open.
    case timedOut
    /// The task was cancelled. The socket stays open, unless a message in fragments was left incomplete.
    case cancelled
    /// A message in fragments was abandoned midway. Only the end of the socket can signal that to the server.
    case messageAbandoned
    /// The application cut the connection: ``WebSocket/cut()`` was called, or the last reference to the socket was
    /// dropped.
    case dropped
  }

  /// The kind of failure.
  public let reason: Reason
  /// A readable sentence, without secrets and message contents.
  public let message: String
  /// A remedy, if there is a usual one.
  public let hint: String?

  init(_ reason: Reason, _ message: String, hint: String? = nil) {
    self.reason = reason
    self.message = message
    self.hint = hint
  }

  /// The stage at which the operation failed, as the command line reports it.
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

  /// The stable code of the failure.
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

  /// Whether the failure results from the caller's cancellation.
  public var isCancelled: Bool {
    switch reason {
    case .cancelled: true
    case .handshake(let error): error.isCancelled
    default: false
    }
  }

  /// Stage, code and message on one line.
  public var description: String {
    "\(stage.rawValue)/\(code): \(message)" + (hint.map { " (\($0))" } ?? "")
  }
}

extension WebSocketHandshakeFailure {
  package var hint: String {
    kind == .digest
      ? "allow it in OpenSSL's configuration, as FIPS does not: every WebSocket needs it; RFC 6455 §4.1"
      : "the server, or something in front of it, does not support WebSocket"
  }
}

extension WebSocketViolation {
  /// The remedy, which only the server's owner can apply.
  package var hint: String { "the server does not follow RFC 6455: report it to its owner" }
}

extension WebSocketError {
  static func invalid(_ message: String, hint: String) -> Self { Self(.invalidArgument, message, hint: hint) }

  static let cancelled = Self(.cancelled, "the task was cancelled")

  static func lacksPong(within limit: Duration?) -> Self {
    Self(
      .timedOut, "no pong came within \(limit?.brief ?? "the timeout of the ping")",
      hint: "raise the timeout of the ping, or connect again: the server or the network may be gone")
  }

  static func closed(_ close: WebSocketClose?) -> Self {
    Self(.closed(close), "the WebSocket is closed", hint: "connect again, or use reconnecting(to:)")
  }

  static func silence(_ keepAlive: Duration) -> Self {
    Self(
      .keepAliveFailed, "no pong came within \(keepAlive.brief)",
      hint: "connect again: the server or the network is gone")
  }

  static let abandoned = Self(
    .messageAbandoned, "the application abandoned a message after its first fragments",
    hint: "finish each message that is begun")
  static let cut = Self(
    .dropped, "the application cut the WebSocket", hint: "connect again; close() ends it cleanly")
  static let dropped = Self(
    .dropped, "the application released the WebSocket", hint: "keep a reference, or close it")
  static let noStream = Self(
    .connectionLost(nil), "the server accepted the handshake and closed the connection",
    hint: "connect again, or ask the server's owner why")

  static func refusedReopening(_ error: any Error) -> Self {
    Self(
      .reopeningRefused(error), "onReopen rejected the reopened socket: it threw \(type(of: error))",
      hint: "see the thrown error in the error's reason")
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
      hint: "connect again, or use reconnecting(to:)")
  }
}
