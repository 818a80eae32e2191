// SPDX-License-Identifier: Apache-2.0

@testable import LastroWire

/// A session with its surroundings: one reader of messages, a clock, and a record of the session's actions.
///
/// This is a class, because the sessions of a pair are fed in turn.
final class SessionHistory {
  enum Note: Equatable {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
  }

  var session: WebSocketSession
  var now = Duration.zero
  let role: WebSocketRole
  /// The messages and control frames that arrived, in order.
  private(set) var notes: [Note] = []
  private(set) var states: [WebSocketSession.State] = []
  private(set) var answers: [UInt64: [WebSocketSession.Action]] = [:]
  private(set) var isStreamClosed = false
  private(set) var isFinished = false
  /// The bytes in flight to the peer.
  private(set) var sent: [UInt8] = []
  private let reader: UInt64
  private var message: [UInt8] = []
  private var nextKey: UInt32 = 0x0102_0304
  private var lastID: UInt64 = 0
  var isReading = true

  init(
    _ role: WebSocketRole, deflate: WebSocketDeflate? = nil, maximumMessageBytes: Int? = 1 << 20,
    _ configure: (inout WebSocketSession.Configuration) -> Void = { _ in }
  ) {
    self.role = role
    var configuration = WebSocketSession.Configuration(
      .init(role: role, deflate: deflate, maximumMessageBytes: maximumMessageBytes))
    configure(&configuration)
    session = WebSocketSession(configuration, now: .zero)
    reader = session.join()
  }

  func makeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  // MARK: our side

  @discardableResult
  func send(_ text: String) -> UInt64 { send(.text, Array(text.utf8)) }

  @discardableResult
  func send(
    _ kind: WebSocketKind, _ bytes: [UInt8], message: UInt64? = nil, isFirst: Bool = true, isFinal: Bool = true
  ) -> UInt64 {
    let id = makeID()
    session.send(.init(id: id, message: message, kind: kind, bytes: bytes, isFirst: isFirst, isFinal: isFinal))
    perform()
    return id
  }

  @discardableResult
  func ping(_ payload: [UInt8]) -> UInt64 {
    let id = makeID()
    session.ping(id, payload: payload, now: now)
    perform()
    return id
  }

  func close(_ code: UInt16? = 1000, _ reason: String = "") {
    session.close(code: code, reason: reason, now: now)
    perform()
  }

  func advance(by duration: Duration) {
    now += duration
    session.tick(now: now, nonce: 0xAABB)
    perform()
  }

  // MARK: the stream

  /// Passes bytes to the session as far as it accepts them, and leaves the rest in `bytes`.
  func receive(_ bytes: inout [UInt8], atMost maximum: Int = .max) {
    work()
    guard session.intake == .read, !bytes.isEmpty else { return }
    let count = min(maximum, bytes.count)
    bytes[..<count].withUnsafeBytes { session.receive($0) }
    bytes.removeFirst(count)
    work()
  }

  func receive(all bytes: [UInt8]) {
    var bytes = bytes
    while !bytes.isEmpty, session.intake == .read || session.intake == .work { receive(&bytes) }
  }

  func receiveEnd() {
    work()
    guard session.intake == .read else { return }
    session.receivedEnd(now: now)
    perform()
  }

  private func work() {
    while session.intake == .work {
      session.workOnce(now: now)
      perform()
      read()
    }
    read()
  }

  /// Reads all available messages.
  func read() {
    while isReading, let piece = session.next(for: reader, now: now) {
      message += piece.bytes
      if piece.isFinal {
        notes.append(piece.kind == .text ? .text(String(decoding: message, as: UTF8.self)) : .binary(message))
        message = []
      }
    }
    perform()
  }

  /// Writes all pending bytes, at most `atMost` bytes of a batch at a time.
  func write(atMost maximum: Int = .max) {
    while let bytes = take() { wrote(bytes, atMost: maximum) }
  }

  /// Returns the next batch without writing it.
  func take() -> [UInt8]? {
    // The few keys sometimes limit the size of a batch.
    var keys = (0..<4).map { _ in
      nextKey = nextKey &* 1_664_525 &+ 1_013_904_223
      return nextKey
    }
    let output = session.output(keys: &keys)
    defer { perform() }
    switch output {
    case .bytes(let bytes): return bytes
    case .finish:
      isFinished = true
      return nil
    case .over, nil: return nil
    }
  }

  func wrote(_ bytes: [UInt8], atMost maximum: Int = .max) {
    for start in stride(from: 0, to: bytes.count, by: min(maximum, bytes.count)) {
      let piece = bytes[start..<min(start + min(maximum, bytes.count), bytes.count)]
      sent += piece
      session.wrote(piece.count, now: now)
      perform()
    }
  }

  func writeFails() {
    session.writeFailed(now: now)
    perform()
  }

  func takeSent() -> [UInt8] {
    defer { sent = [] }
    return sent
  }

  func perform() {
    for action in session.takeActions() {
      switch action {
      case .told(let state): states.append(state)
      case .sent(let id), .ponged(let id, _, _), .refused(let id): answers[id, default: []].append(action)
      case .received, .receivedClose: break
      case .receivedPing(let payload): notes.append(.ping(payload))
      case .receivedPong(let payload): notes.append(.pong(payload))
      case .closeStream: isStreamClosed = true
      }
    }
  }

  var end: WebSocketSession.State? { states.last }
  // Copies of the session's properties, because expectations need copyable values.
  var hasOutput: Bool { session.hasOutput }
  var canSend: Bool { session.canSend }
  var isWritingBroken: Bool { session.isWritingBroken }
  var illegalEvent: String? { session.illegalEvent.map { "\($0.phase) \($0.event)" } }
}

extension SessionHistory {
  /// Carries bytes in both directions until nothing moves. If one side has finished, or has closed its stream, the
  /// reading side of the other ends.
  static func converse(
    _ first: SessionHistory, _ second: SessionHistory, atMost maximum: () -> Int = { .max }
  ) {
    var toFirst: [UInt8] = [], toSecond: [UInt8] = []
    var isMoving = true
    while isMoving {
      first.write(atMost: max(1, maximum()))
      second.write(atMost: max(1, maximum()))
      toSecond += first.takeSent()
      toFirst += second.takeSent()
      let before = (toFirst.count, toSecond.count, first.session.phase, second.session.phase)
      second.receive(&toSecond, atMost: maximum())
      first.receive(&toFirst, atMost: maximum())
      if toFirst.isEmpty, second.isFinished || second.isStreamClosed { first.receiveEnd() }
      if toSecond.isEmpty, first.isFinished || first.isStreamClosed { second.receiveEnd() }
      let after = (toFirst.count, toSecond.count, first.session.phase, second.session.phase)
      isMoving = before != after || first.session.hasFrames || second.session.hasFrames
    }
  }
}

extension WebSocketSession {
  /// Whether frames wait to be written. In the phase `done`, the only pending output is the end of writing, which does
  /// not count.
  var hasFrames: Bool { hasOutput && phase != .done }
}
