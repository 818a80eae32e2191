// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
internal import LastroWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An open WebSocket (RFC 6455), from ``WebSocketClient``.
///
/// ```swift
/// let socket = try await client.connect("wss://example.org/chat")
/// try await socket.send("hello")
/// for try await message in socket.messages { print(message) }
/// ```
///
/// Any thread may use it; senders take turns, and each observer of ``messages`` or ``fragments`` gets everything.
/// Dropping the last reference (sequences of messages hold one) cuts the connection; ``close(_:reason:)`` says goodbye
/// first.
///
/// Back-pressure: a send returns when the layer below has taken the message. What comes in is kept, up to
/// ``WebSocketConfiguration/receiveBufferBytes``, until the slowest observer has read it; without observers it waits
/// for the first. When the limit is reached nothing more is read, not even control frames, until the observers go on;
/// the keep-alive does not count that time, nor a time in which the frame that would have to come first is still
/// coming.
public final class WebSocket: Sendable {
  /// The subprotocol that the server chose; `nil` for none.
  public let subprotocol: String?
  /// Whether messages may be compressed: the server agreed to permessage-deflate.
  public let isCompressing: Bool
  /// The answer to the handshake, with the account of its attempts.
  public let response: ResourceResponse
  /// What is known about the connection.
  public var facts: StreamFacts { core.stream.facts }

  let core: WebSocketCore

  init(_ core: WebSocketCore, subprotocol: String?, response: ResourceResponse) {
    self.core = core
    self.subprotocol = subprotocol
    self.response = response
    isCompressing = core.isCompressing
  }

  // One that has ended is left to say so to the server.
  deinit { core.shared.change { $0.session.drop(now: $1) } }

  /// Keeps the socket until a call has ended: the caller's reference may be gone as soon as the call has begun.
  private func stay() { withExtendedLifetime(self) {} }

  // MARK: state

  /// The current state.
  public var state: WebSocketState { core.shared.change { state, _ in state.current } }

  /// The current state, then each that follows, for every observer.
  public var states: WebSocketStates { WebSocketStates(core: core) }

  // MARK: receiving

  /// Messages, whole, for every observer.
  public var messages: WebSocketMessages { WebSocketMessages(socket: self) }

  /// Messages in pieces, as they come in, for every observer.
  public var fragments: WebSocketFragments { WebSocketFragments(socket: self) }

  /// Payloads of the server's pings, for every observer.
  public var pings: WebSocketPingPayloads { WebSocketPingPayloads(core: core) }

  // MARK: sending

  /// Sends a text message; returns when the layer below has taken it.
  ///
  /// A call that is cancelled before its first frame went out sends nothing; later, the message goes out in the
  /// background, so that the socket can still be used.
  ///
  /// - Throws: `closed`, `cancelled`, or why the socket failed.
  public func send(_ text: String) async throws(WebSocketError) { try await send(.text(text)) }

  /// Sends a binary message; as ``send(_:)-(String)``.
  ///
  /// - Throws: `closed`, `cancelled`, or why the socket failed.
  public func send(_ data: Data) async throws(WebSocketError) { try await send(.binary(data)) }

  /// Sends a message; as ``send(_:)-(String)``.
  ///
  /// - Throws: `closed`, `cancelled`, or why the socket failed.
  public func send(_ message: WebSocketMessage) async throws(WebSocketError) {
    defer { stay() }
    let id = core.shared.makeID()
    switch message {
    case .text(let text): try await core.send(.init(id: id, kind: .text, bytes: Array(text.utf8)))
    case .binary(let data): try await core.send(.init(id: id, kind: .binary, bytes: Array(data)))
    }
  }

  /// Sends one message piece by piece, for what is too large for memory or not known yet. Other messages wait
  /// meanwhile; pings and pongs do not.
  ///
  /// When `body` throws after a fragment went out, or is cancelled, the message cannot be ended and the socket fails
  /// with `messageAbandoned`, telling the server code 1011: nothing else could tell it.
  ///
  /// - Parameters:
  ///   - kind: what the message is.
  ///   - body: writes the fragments. The message ends when it returns.
  /// - Throws: what `body` throws; ``WebSocketError``.
  public func sendFragments(
    _ kind: WebSocketMessage.Kind, _ body: (borrowing WebSocketFragmentWriter) async throws -> Void
  ) async throws {
    defer { stay() }
    let writer = WebSocketFragmentWriter(core, kind)
    do {
      try await body(writer)
      try await writer.finish()
    } catch {
      writer.abandon()
      throw error
    }
  }

  /// Sends one text message whose pieces come from a sequence; see ``sendFragments(_:_:)``.
  ///
  /// - Throws: what the sequence throws; ``WebSocketError``.
  public func send<Pieces: AsyncSequence>(
    fragments: Pieces
  ) async throws where Pieces.Element == String {
    try await sendFragments(.text) { writer in
      for try await piece in fragments { try await writer.write(piece) }
    }
  }

  /// Sends one binary message whose pieces come from a sequence; see ``sendFragments(_:_:)``.
  ///
  /// - Throws: what the sequence throws; ``WebSocketError``.
  public func send<Pieces: AsyncSequence>(
    fragments: Pieces
  ) async throws where Pieces.Element == Data {
    try await sendFragments(.binary) { writer in
      for try await piece in fragments { try await writer.write(piece) }
    }
  }

  // MARK: control

  /// Sends a ping and waits for its pong.
  ///
  /// A pong with the payload of a later ping ends the wait too, for a server need answer only the latest (RFC 6455
  /// §5.5.3).
  ///
  /// - Parameters:
  ///   - payload: at most 125 bytes. Default: one of its own, so that no other pong can be taken for the answer.
  ///   - limit: longest wait. Default 10 s; `nil` for none. The socket goes on when it passes.
  /// - Throws: `timedOut`, `cancelled`, `invalidArgument`, `closed`, or why the socket failed.
  @discardableResult
  public func ping(
    _ payload: Data? = nil, within limit: Duration? = .seconds(10)
  ) async throws(WebSocketError) -> WebSocketPong {
    try Self.check(payload)
    defer { stay() }
    return try await core.ping(payload, within: limit)
  }

  /// Sends a pong: the answer to a ping when ``WebSocketConfiguration/answersPings`` is false, or an unsolicited
  /// heartbeat (RFC 6455 §5.5.3). Does not wait; of those that wait to be sent the latest 64 are.
  ///
  /// - Parameter payload: that of the ping; at most 125 bytes.
  /// - Throws: `invalidArgument`, `closed`, or why the socket failed.
  public func pong(_ payload: Data) throws(WebSocketError) {
    try Self.check(payload)
    let refusal = core.shared.change { state, _ in state.session.pong(Array(payload)) ? nil : state.refusal }
    if let refusal { throw refusal }
  }

  private static func check(_ payload: Data?) throws(WebSocketError) {
    if let count = payload?.count, count > 125 {
      throw .invalid(
        "the payload has \(count) bytes, above the maximum of 125", hint: "send more as a message; RFC 6455 §5.5")
    }
  }

  // MARK: closing

  /// Closes the socket: messages that wait to be sent go out, then a Close frame; then the server's is waited for.
  ///
  /// What comes in meanwhile is delivered, unless the observers are too slow for it. After
  /// ``WebSocketConfiguration/closeTimeout`` the connection is cut. A second call waits for the same end; a cancelled
  /// one leaves the closing going on.
  ///
  /// - Parameters:
  ///   - code: default 1000. `nil` for a frame without a code.
  ///   - reason: at most 123 bytes; only with a code.
  /// - Returns: how it ended, whichever side began.
  /// - Throws: `invalidArgument`; `cancelled`; why the socket had failed.
  @discardableResult
  public func close(
    _ code: WebSocketCloseCode? = .normal, reason: String = ""
  ) async throws(WebSocketError) -> WebSocketClose {
    if let code, !code.maySend {
      throw .invalid("the close code \(code) is out of range", hint: "give 1000 to 1003, 1007 to 1014 or 3000 to 4999")
    }
    guard code != nil || reason.isEmpty else { throw .invalid("the reason has no code", hint: "give a code too") }
    guard reason.utf8.count <= WebSocketCloseRules.maximumReasonBytes else {
      throw .invalid(
        "the reason has \(reason.utf8.count) bytes, above the maximum of \(WebSocketCloseRules.maximumReasonBytes)",
        hint: "shorten it: a Close frame has no more room")
    }
    defer { stay() }
    return try await core.close(code, reason)
  }

  /// Cuts the connection at once, without a word. Idempotent.
  public func cut() { core.shared.change { $0.session.cut(now: $1) } }
}

/// Writes the fragments of one message; see ``WebSocket/sendFragments(_:_:)``. For one task at a time.
public struct WebSocketFragmentWriter: ~Copyable {
  private let core: WebSocketCore
  private let kind: WebSocketMessage.Kind
  private let message: UInt64
  private let isBegun = Lock(false)

  init(_ core: WebSocketCore, _ kind: WebSocketMessage.Kind) {
    self.core = core
    self.kind = kind
    message = core.shared.makeID()
  }

  /// Sends a piece of a text; returns when the layer below has taken it.
  ///
  /// - Throws: `invalidArgument` for a binary message; else as ``WebSocket/send(_:)-(String)``.
  public func write(_ text: String) async throws(WebSocketError) {
    guard kind == .text else { throw .invalid("text was written to a binary message", hint: "write Data") }
    if !text.isEmpty { try await send(Array(text.utf8), isFinal: false) }
  }

  /// Sends a piece of a binary message; returns when the layer below has taken it.
  ///
  /// - Throws: `invalidArgument` for a text message, whose pieces must be text; else as
  ///   ``WebSocket/send(_:)-(String)``.
  public func write(_ data: Data) async throws(WebSocketError) {
    guard kind == .binary else { throw .invalid("bytes were written to a text message", hint: "write a String") }
    if !data.isEmpty { try await send(Array(data), isFinal: false) }
  }

  private func send(_ bytes: [UInt8], isFinal: Bool) async throws(WebSocketError) {
    let isFirst = isBegun.withLock { !$0 }
    // Whether a fragment that was taken and failed went out is unknown: then only the whole message will do.
    try await core.send(
      .init(
        id: core.shared.makeID(), message: message, kind: kind == .text ? .text : .binary, bytes: bytes,
        isFirst: isFirst,
        isFinal: isFinal), taken: isBegun)
  }

  borrowing func finish() async throws(WebSocketError) { try await send([], isFinal: true) }

  borrowing func abandon() {
    guard isBegun.withLock(\.self) else { return }
    core.shared.change { $0.session.abandonMessage(now: $1) }
  }
}
