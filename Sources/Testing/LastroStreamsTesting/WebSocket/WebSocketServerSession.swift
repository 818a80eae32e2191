// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroTesting
internal import LastroWebSocket
import LastroWire

/// A connection of a loopback WebSocket server: bytes in, steps out. It does no I/O, and has no clock.
///
/// A ``WebSocketSession`` in the server's role produces the valid output; invalid output bypasses it.
final class WebSocketServerSession {
  enum Step {
    case write([UInt8])
    case end
    case cut
  }

  private let behavior: LoopbackWebSocketBehavior
  private let connection: Int
  private let record: @Sendable (LoopbackWebSocketEvent) -> Void
  private var head: [UInt8] = []
  private var isOpen = false
  private var isSilent = false
  /// Whether the session ignores the client's Close frame.
  private var isStubborn = false
  private var isOver = false
  private var message: [UInt8] = []
  private var session: WebSocketSession
  private var reader: UInt64 = 0
  private var lastID: UInt64 = 0

  /// - Parameter connection: the number of the connection, which the handshake's request gets; 0 without a server.
  init(
    _ behavior: LoopbackWebSocketBehavior, connection: Int = 0,
    record: @escaping @Sendable (LoopbackWebSocketEvent) -> Void
  ) {
    self.behavior = behavior
    self.connection = connection
    self.record = record
    session = Self.session(behavior, nil)
  }

  private static func session(
    _ behavior: LoopbackWebSocketBehavior, _ deflate: WebSocketDeflate?
  ) -> WebSocketSession {
    var configuration = WebSocketSession.Configuration(
      .init(role: .server, deflate: deflate, maximumMessageBytes: nil))
    configuration.minimumCompressedBytes = behavior.compression?.minimumBytes ?? 0
    configuration.maximumOutgoingFrameBytes = max(1, behavior.fragmentBytes ?? .max)
    configuration.receiveBufferBytes = .max
    configuration.answersPings = behavior.answersPings
    return WebSocketSession(configuration, now: .zero)
  }

  /// Returns the steps for received bytes.
  func receive(_ bytes: [UInt8]) -> [Step] {
    if isOver { return [] }
    if isOpen { return work(bytes) }
    head += bytes
    guard let end = head.firstIndex(ofEmptyLine: ()) else { return [] }
    let rest = Array(head[end...])
    let lines = String(decoding: head[..<(end - 4)], as: UTF8.self).split(separator: "\r\n").map(String.init)
    guard let asked = try? RawRequestHead(lines: lines, bytes: Array(head[..<end])) else {
      return endSession(with: .end)
    }
    let request = LoopbackRequest(asked, connection: connection)
    record(.handshake(request))
    return open(request) + (isOpen && !rest.isEmpty ? work(rest) : [])
  }

  private func endSession(with last: Step) -> [Step] {
    isOver = true
    return [last]
  }

  // MARK: handshake

  private func open(_ request: LoopbackRequest) -> [Step] {
    if let response = behavior.onHandshake(request) {
      return pieces(response.head(closing: true) + response.body) + endSession(with: .end)
    }
    switch behavior.handshake {
    case .silence: return []
    case .bytes(let bytes):
      isOver = true
      return pieces(bytes)
    case .accept, .wrongAccept, .fields: break
    }
    guard let key = request.head["Sec-WebSocket-Key"] else {
      return pieces(LoopbackResponse(status: 400).head(closing: true)) + endSession(with: .end)
    }
    isOpen = true
    return pieces(acceptance(request.head, key)) + behavior.greeting.flatMap { perform($0) }
  }

  private func acceptance(_ request: RawRequestHead, _ key: String) -> [UInt8] {
    var accept = WebSocketHandshake.accept(key)
    if case .wrongAccept = behavior.handshake { accept = WebSocketHandshake.accept(key + "x") }
    var fields = [
      RawRequestHead.Field(name: "Upgrade", value: "websocket"), .init(name: "Connection", value: "Upgrade"),
    ]
    if let subprotocol = behavior.subprotocol {
      fields.append(.init(name: "Sec-WebSocket-Protocol", value: subprotocol))
    }
    let deflate = agreement(request)
    if let deflate { fields.append(.init(name: "Sec-WebSocket-Extensions", value: deflate.headerValue)) }
    session = Self.session(behavior, deflate)
    reader = session.join()
    if case .fields(let own) = behavior.handshake { fields = own }
    fields.append(.init(name: "Sec-WebSocket-Accept", value: accept))
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("HTTP/1.1 101 Switching Protocols\r\n\(lines)\r\n".utf8)
  }

  private func agreement(_ request: RawRequestHead) -> WebSocketDeflate? {
    guard let compression = behavior.compression else { return nil }
    let text = request.values("Sec-WebSocket-Extensions").joined(separator: ",")
    return (WebSocketExtension.list(text) ?? []).lazy.compactMap { offer in
      WebSocketDeflate(
        accepting: offer, serverNoContextTakeover: compression.serverNoContextTakeover,
        clientNoContextTakeover: compression.clientNoContextTakeover, serverWindowBits: compression.serverWindowBits,
        clientWindowBits: compression.clientWindowBits)
    }.first
  }

  // MARK: frames

  private func work(_ bytes: [UInt8]) -> [Step] {
    bytes.withUnsafeBytes { session.receive($0) }
    var steps: [Step] = []
    // Process one event at a time, so that responses are in the order of the events.
    while !isOver, session.intake == .work {
      session.workOnce(now: .zero)
      steps += readPieces()
      steps += flush()
    }
    return steps
  }

  private func readPieces() -> [Step] {
    var steps: [Step] = []
    while let piece = session.next(for: reader, now: .zero) {
      message += piece.bytes
      guard piece.isFinal else { continue }
      let event =
        piece.kind == .text
        ? LoopbackWebSocketEvent.text(String(decoding: message, as: UTF8.self)) : .binary(message)
      message = []
      record(event)
      steps += behavior.onMessage(event).flatMap { perform($0) }
    }
    return steps
  }

  /// Records the session's events, and writes its output.
  private func flush() -> [Step] {
    var steps: [Step] = []
    var keys: [UInt32] = []
    repeat {
      for action in session.takeActions() { note(action) }
      switch session.output(keys: &keys) {
      case .bytes(let bytes):
        session.wrote(bytes.count, now: .zero)
        if !isSilent { steps += pieces(bytes) }
      case .finish, .over:
        if !isStubborn, !isOver { steps += endSession(with: .end) }
      case nil: break
      }
    } while session.hasOutput && !isOver && session.phase != .done
    return steps
  }

  private func note(_ action: WebSocketSession.Action) {
    switch action {
    case .receivedPing(let payload): record(.ping(payload))
    case .receivedPong(let payload): record(.pong(payload))
    case .receivedClose(let code, let reason):
      record(.close(code, reason))
      if !behavior.answersClose { (isSilent, isStubborn) = (true, true) }
    case .told(.failed(.violation(let violation))): record(.violation(violation.message))
    case .told, .sent, .ponged, .refused, .received, .closeStream: break
    }
  }

  private func perform(_ action: LoopbackWebSocketBehavior.Action) -> [Step] {
    guard !isSilent, !isOver, session.canSend else { return [] }
    switch action {
    case .text(let text): send(.text, [Array(text.utf8)])
    case .binary(let bytes): send(.binary, [bytes])
    case .textFragments(let fragments): send(.text, fragments)
    case .ping(let payload): session.ping(makeID(), payload: payload, now: .zero)
    case .pong(let payload): _ = session.pong(payload)
    case .close(let code, let reason): session.close(code: code, reason: reason, now: .zero)
    case .bytes(let bytes): return flush() + pieces(bytes)
    case .end: return endSession(with: .end)
    case .cut: return endSession(with: .cut)
    case .fallSilent: isSilent = true
    }
    return flush()
  }

  private func makeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  private func send(_ kind: WebSocketKind, _ fragments: [[UInt8]]) {
    let message = makeID()
    for (index, fragment) in fragments.enumerated() {
      session.send(
        .init(
          id: makeID(), message: message, kind: kind, bytes: fragment, isFirst: index == 0,
          isFinal: index == fragments.count - 1))
    }
  }

  private func pieces(_ bytes: [UInt8]) -> [Step] {
    guard !bytes.isEmpty else { return [] }
    guard let size = behavior.pieceBytes, size > 0 else { return [.write(bytes)] }
    return stride(from: 0, to: bytes.count, by: size).map { .write(Array(bytes[$0..<min($0 + size, bytes.count)])) }
  }
}

extension [UInt8] {
  /// Returns the index after the first empty line.
  fileprivate func firstIndex(ofEmptyLine: Void) -> Int? {
    guard count >= 4 else { return nil }
    for index in 0...(count - 4) where self[index...].starts(with: [13, 10, 13, 10]) { return index + 4 }
    return nil
  }
}
