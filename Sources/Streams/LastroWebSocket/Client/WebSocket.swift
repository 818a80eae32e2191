// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
internal import LastroSupport
internal import LastroWire

/// An open WebSocket (RFC 6455), from ``WebSocketClient``.
///
/// ```swift
/// let socket = try await client.connect("wss://example.org/chat")
/// try await socket.send("hello")
/// for try await message in socket.messages { print(message) }
/// ```
///
/// It may be used from any thread. Concurrent senders take turns, and each observer of ``messages`` or ``fragments``
/// gets every message. Dropping the last reference (sequences of messages hold one) cuts the connection;
/// ``close(_:reason:)`` closes it properly.
///
/// Back-pressure: a send returns when the layer below has accepted the message. Received data is kept, up to
/// ``WebSocketConfiguration/receiveBufferBytes``, until the slowest observer has read it; without observers it is kept
/// for the first one. When the limit is reached nothing more is read, not even control frames, until the observers
/// continue. The keep-alive does not count that time, nor the time in which an earlier frame is still being received.
public final class WebSocket: Sendable {
  /// The subprotocol that the server chose; `nil` if none.
  public let subprotocol: String?
  /// Whether messages may be compressed, because the server accepted permessage-deflate.
  public let isCompressing: Bool
  /// The response to the handshake, with the records of its attempts.
  public let response: ResourceResponse
  /// The facts about the connection.
  public var facts: StreamFacts { core.stream.facts }

  let core: WebSocketCore

  init(_ core: WebSocketCore, subprotocol: String?, response: ResourceResponse) {
    self.core = core
    self.subprotocol = subprotocol
    self.response = response
    isCompressing = core.isCompressing
  }

  // Unlike a cut, this lets a session that has already ended send its Close frame.
  deinit { core.change { $0.session.drop(now: $1) } }

  /// Keeps the socket alive until a call has ended: the caller may drop its reference once the call has begun.
  private func stay() { withExtendedLifetime(self) {} }

  // MARK: state

  /// The current state of the socket.
  package var state: WebSocketState { core.change { state, _ in state.current } }

  /// Whether messages can be sent and received: false once the closing has begun on either side, or the socket has
  /// failed.
  public var isOpen: Bool { if case .open = state { true } else { false } }

  /// The current state, followed by each later one, up to the final one.
  ///
  /// Each iterator is a separate observer. The sequence never fails, but ends early in a cancelled task. It does not
  /// keep the socket open.
  public var states: some AsyncSequence<WebSocketState, Never> & Sendable {
    WebSocketNews<WebSocketState>(core: core, backlog: 1) { $0.history }
  }

  /// Waits for the end of the socket, and returns how it was closed. Any number of tasks may wait, also after the end.
  ///
  /// The wait keeps the socket open. It reads no messages: without an observer of ``messages`` or ``fragments``, the
  /// server's Close frame is not read once ``WebSocketConfiguration/receiveBufferBytes`` of messages wait before it.
  ///
  /// - Returns: the result of the closing, regardless of which side began it.
  /// - Throws: `cancelled` in a cancelled task; the error that made the socket fail, if there was no Close frame.
  public func waitForEnd() async throws(WebSocketError) -> WebSocketClose {
    defer { stay() }
    return try await core.ended()
  }

  /// Waits until a new connection would use another client certificate than this one, or other trust rules: files of
  /// TLS options have changed, a `RotatingIdentity` was replaced, or pins were. Connect again then, and close this
  /// socket: a server may end it when its certificate expires. `WebSocketConfiguration.reconnectsWhenOutdated` does so
  /// automatically.
  ///
  /// The rules are checked every 5 s while a task waits. Files are checked at most once a second, separately for new
  /// connections, so wait for a second before you connect again. The wait keeps the socket open.
  ///
  /// - Returns: true if the socket is outdated; false once it has ended.
  /// - Throws: `cancelled` in a cancelled task.
  public func waitUntilOutdated() async throws(WebSocketError) -> Bool {
    defer { stay() }
    return try await core.waitUntilOutdated()
  }

  // MARK: receiving

  /// The whole messages. Each iterator is a separate observer, from the moment it is created.
  ///
  /// The sequence ends when the socket is closed, by either side and with any code, and throws when it failed. Messages
  /// that arrived before the end are delivered first. A cancelled wait throws `cancelled` and loses no message. The
  /// sequence keeps the socket open.
  public var messages: some AsyncSequence<WebSocketMessage, WebSocketError> & Sendable {
    WebSocketReception<WebSocketMessage>(socket: self) { observer async throws(WebSocketError) in
      try await observer.nextMessage()
    }
  }

  /// The messages in pieces as they arrive; otherwise like ``messages``.
  public var fragments: some AsyncSequence<WebSocketFragment, WebSocketError> & Sendable {
    WebSocketReception<WebSocketFragment>(socket: self) { observer async throws(WebSocketError) in
      try await observer.nextFragment()
    }
  }

  /// The payloads of the server's pings.
  ///
  /// Each iterator is a separate observer, which begins with the next ping. A slow one gets the latest 16. The sequence
  /// never fails, but ends early in a cancelled task. It does not keep the socket open.
  public var pings: some AsyncSequence<Data, Never> & Sendable {
    WebSocketNews<Data>(core: core, backlog: 0) { $0.receivedPings }
  }

  // MARK: sending

  /// Sends a text message; returns when the layer below has accepted it.
  ///
  /// A call that is cancelled before its first frame was sent sends nothing. If it is cancelled later, the rest of the
  /// message is sent in the background, so that the socket remains usable.
  ///
  /// - Throws: `closed`, `cancelled`, or the error that made the socket fail.
  public func send(_ text: String) async throws(WebSocketError) { try await send(.text(text)) }

  /// Sends a binary message, like ``send(_:)-(String)``.
  ///
  /// - Throws: `closed`, `cancelled`, or the error that made the socket fail.
  public func send(_ data: Data) async throws(WebSocketError) { try await send(.binary(data)) }

  /// Sends a message, like ``send(_:)-(String)``.
  ///
  /// - Throws: `closed`, `cancelled`, or the error that made the socket fail.
  public func send(_ message: WebSocketMessage) async throws(WebSocketError) {
    defer { stay() }
    let id = core.makeID()
    switch message {
    case .text(let text): try await core.send(.init(id: id, kind: .text, bytes: Array(text.utf8)))
    case .binary(let data): try await core.send(.init(id: id, kind: .binary, bytes: Array(data)))
    }
  }

  /// Sends one text message whose pieces come from a sequence, for content that is too large for memory or not yet
  /// complete. The next piece is requested when the layer below has accepted the last one. Other messages wait
  /// meanwhile; pings and pongs do not.
  ///
  /// If the sequence throws, or the task is cancelled, after a piece was sent, the message cannot be completed. The
  /// socket then fails with `messageAbandoned` and sends the server code 1011, because the protocol has no other way to
  /// abandon a message.
  ///
  /// - Throws: the error that the sequence throws; ``WebSocketError``.
  public func send<Pieces: AsyncSequence>(
    fragments: Pieces
  ) async throws where Pieces.Element == String {
    try await send(fragments, as: .text) { Array($0.utf8) }
  }

  /// Sends one binary message whose pieces come from a sequence, like a text message.
  ///
  /// - Throws: the error that the sequence throws; ``WebSocketError``.
  public func send<Pieces: AsyncSequence>(
    fragments: Pieces
  ) async throws where Pieces.Element == Data {
    try await send(fragments, as: .binary) { Array($0) }
  }

  private func send<Pieces: AsyncSequence>(
    _ pieces: Pieces, as kind: WebSocketKind, _ bytes: (Pieces.Element) -> [UInt8]
  ) async throws {
    defer { stay() }
    let message = core.makeID()
    // A fragment that was queued and then failed may have been sent, so the message counts as begun once one was
    // queued.
    let isBegun = Lock(false)
    func sendFragment(_ bytes: [UInt8], isFinal: Bool) async throws(WebSocketError) {
      let isFirst = isBegun.withLock { !$0 }
      try await core.send(
        .init(id: core.makeID(), message: message, kind: kind, bytes: bytes, isFirst: isFirst, isFinal: isFinal),
        taken: isBegun)
    }
    do {
      for try await piece in pieces {
        let bytes = bytes(piece)
        if !bytes.isEmpty { try await sendFragment(bytes, isFinal: false) }
      }
      try await sendFragment([], isFinal: true)
    } catch {
      if isBegun.withLock(\.self) { core.change { $0.session.abandonMessage(now: $1) } }
      throw error
    }
  }

  // MARK: control

  /// Sends a ping, waits for its pong, and returns the time from the call until the pong arrived.
  ///
  /// A pong with the payload of a later ping ends the wait too, because a server may answer only the latest ping (RFC
  /// 6455 §5.5.3).
  ///
  /// - Parameters:
  ///   - payload: at most 125 bytes. Default: a unique payload, so that no other pong can be mistaken for the response.
  ///   - limit: the longest wait. Default 10 s; `nil`: no limit. The socket stays open when it passes.
  /// - Throws: `timedOut`, `cancelled`, `invalidArgument`, `closed`, or the error that made the socket fail.
  @discardableResult
  public func ping(
    _ payload: Data? = nil, within limit: Duration? = .seconds(10)
  ) async throws(WebSocketError) -> Duration {
    try await exchangePing(payload, within: limit).roundTrip
  }

  /// Sends a ping and returns its pong; see ``ping(_:within:)``.
  package func exchangePing(
    _ payload: Data? = nil, within limit: Duration? = .seconds(10)
  ) async throws(WebSocketError) -> WebSocketPong {
    try Self.check(payload)
    defer { stay() }
    return try await core.ping(payload, within: limit)
  }

  /// Sends a pong: the response to a ping if ``WebSocketConfiguration/answersPings`` is false, or an unsolicited
  /// heartbeat (RFC 6455 §5.5.3). It does not wait. At most 64 pongs are queued; older ones are dropped.
  ///
  /// - Parameter payload: the payload of the ping; at most 125 bytes.
  /// - Throws: `invalidArgument`, `closed`, or the error that made the socket fail.
  public func pong(_ payload: Data) throws(WebSocketError) {
    try Self.check(payload)
    let refusal = core.change { state, _ in state.session.pong(Array(payload)) ? nil : state.refusal }
    if let refusal { throw refusal }
  }

  private static func check(_ payload: Data?) throws(WebSocketError) {
    if let count = payload?.count, count > 125 {
      throw .invalid(
        "the payload has \(count) bytes, above the maximum of 125", hint: "send more as a message; RFC 6455 §5.5")
    }
  }

  // MARK: closing

  /// Closes the socket: sends the queued messages and a Close frame, then waits for that of the server.
  ///
  /// Messages that arrive meanwhile are delivered, unless the observers are too slow. After
  /// ``WebSocketConfiguration/closeTimeout`` the connection is cut. A second call waits for the same end. Cancelling a
  /// call does not stop the closing.
  ///
  /// - Parameters:
  ///   - code: the close code. Default 1000; `nil` sends a frame without a code.
  ///   - reason: at most 123 bytes; requires a code.
  /// - Returns: the result of the closing, regardless of which side began it.
  /// - Throws: `invalidArgument`; `cancelled`; the error that made the socket fail.
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

  /// Cuts the connection immediately, without a Close frame. Idempotent.
  public func cut() {
    core.change { state, now in
      state.endedByApplication()
      state.session.cut(now: now)
    }
  }
}
