// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroTesting
internal import LastroWebSocket
import LastroWire

/// One connection of a loopback WebSocket server: bytes in, steps out. It does no I/O.
final class WebSocketServerSession {
  enum Step {
    case write([UInt8])
    case end
    case cut
  }

  private let behavior: LoopbackWebSocketBehavior
  private let record: @Sendable (LoopbackWebSocketEvent) -> Void
  private var head: [UInt8] = []
  private var isOpen = false
  private var isSilent = false
  private var hasClosed = false
  private var isOver = false
  private var message: [UInt8] = []
  private var encoder = WebSocketEncoder(role: .server)
  private var decoder = WebSocketDecoder(.init(role: .server))

  init(_ behavior: LoopbackWebSocketBehavior, record: @escaping @Sendable (LoopbackWebSocketEvent) -> Void) {
    self.behavior = behavior
    self.record = record
  }

  /// What is to be done for these bytes.
  func receive(_ bytes: [UInt8]) -> [Step] {
    if isOver { return [] }
    if isOpen { return work(bytes) }
    head += bytes
    guard let end = head.firstIndex(ofEmptyLine: ()) else { return [] }
    let rest = Array(head[end...])
    let lines = String(decoding: head[..<(end - 4)], as: UTF8.self).split(separator: "\r\n").map(String.init)
    guard let request = try? RawRequestHead(lines: lines, bytes: Array(head[..<end])) else { return finish(.end) }
    record(.handshake(request))
    return open(request) + (isOpen && !rest.isEmpty ? work(rest) : [])
  }

  private func finish(_ last: Step) -> [Step] {
    isOver = true
    return [last]
  }

  // MARK: handshake

  private func open(_ request: RawRequestHead) -> [Step] {
    switch behavior.handshake {
    case .silence: return []
    case .bytes(let bytes):
      isOver = true
      return pieces(bytes)
    case .answer(let answer):
      guard let response = answer(request) else { break }
      return pieces(response.head(closing: true) + response.body) + finish(.end)
    case .accept, .wrongAccept, .fields: break
    }
    guard let key = request["Sec-WebSocket-Key"] else {
      return pieces(LoopbackResponse(status: 400).head(closing: true)) + finish(.end)
    }
    isOpen = true
    return pieces(acceptance(request, key)) + behavior.greeting.flatMap { perform($0) }
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
    if let deflate = agreement(request) {
      fields.append(.init(name: "Sec-WebSocket-Extensions", value: deflate.headerValue))
      encoder = WebSocketEncoder(
        role: .server, deflate: deflate, minimumCompressedBytes: behavior.compression?.minimumBytes ?? 0)
      decoder = WebSocketDecoder(.init(role: .server, deflate: deflate, maximumMessageBytes: nil))
    } else {
      decoder = WebSocketDecoder(.init(role: .server, maximumMessageBytes: nil))
    }
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
    bytes.withUnsafeBytes { decoder.receive($0) }
    var steps: [Step] = []
    do throws(WebSocketViolation) {
      while !isOver, let event = try decoder.next() { steps += handle(event) }
    } catch {
      record(.violation(error.message))
      steps += pieces(encoder.control(.close, WebSocketCloseRules.payload(code: error.closeCode, reason: ""), key: 0))
      steps += finish(.end)
    }
    return steps
  }

  private func handle(_ event: WebSocketDecoder.Event) -> [Step] {
    switch event {
    case .piece(let piece):
      message += piece.bytes
      guard piece.isFinal else { return [] }
      defer { message = [] }
      let event =
        piece.kind == .text
        ? LoopbackWebSocketEvent.text(String(decoding: message, as: UTF8.self)) : .binary(message)
      record(event)
      return behavior.onMessage(event).flatMap { perform($0) }
    case .ping(let payload):
      record(.ping(payload))
      return behavior.answersPings ? perform(.pong(payload)) : []
    case .pong(let payload):
      record(.pong(payload))
      return []
    case .close(let code, let reason):
      record(.close(code, reason))
      guard behavior.answersClose else { return [] }
      return (hasClosed ? [] : perform(.close(code, ""))) + finish(.end)
    }
  }

  private func perform(_ action: LoopbackWebSocketBehavior.Action) -> [Step] {
    guard !isSilent, !isOver, !hasClosed else { return [] }
    switch action {
    case .text(let text): return send(.text, Array(text.utf8))
    case .binary(let bytes): return send(.binary, bytes)
    case .textFragments(let fragments): return send(.text, fragments)
    case .ping(let payload): return pieces(encoder.control(.ping, payload, key: 0))
    case .pong(let payload): return pieces(encoder.control(.pong, payload, key: 0))
    case .close(let code, let reason):
      hasClosed = true
      return pieces(encoder.control(.close, WebSocketCloseRules.payload(code: code, reason: reason), key: 0))
    case .fault(let fault): return pieces(fault.bytes)
    case .bytes(let bytes): return pieces(bytes)
    case .end: return finish(.end)
    case .cut: return finish(.cut)
    case .fallSilent:
      isSilent = true
      return []
    }
  }

  private func send(_ kind: WebSocketKind, _ bytes: [UInt8]) -> [Step] {
    guard let size = behavior.fragmentBytes, bytes.count > size else { return send(kind, [bytes]) }
    return send(
      kind, stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) })
  }

  private func send(_ kind: WebSocketKind, _ fragments: [[UInt8]]) -> [Step] {
    var frames: [UInt8] = []
    for (index, fragment) in fragments.enumerated() {
      frames += fragment.withUnsafeBytes { bytes in
        encoder.data(kind, bytes, isFirst: index == 0, isFinal: index == fragments.count - 1, key: 0)
      }
    }
    return pieces(frames)
  }

  private func pieces(_ bytes: [UInt8]) -> [Step] {
    guard !bytes.isEmpty else { return [] }
    guard let size = behavior.pieceBytes, size > 0 else { return [.write(bytes)] }
    return stride(from: 0, to: bytes.count, by: size).map { .write(Array(bytes[$0..<min($0 + size, bytes.count)])) }
  }
}

extension [UInt8] {
  /// The index behind the first empty line.
  fileprivate func firstIndex(ofEmptyLine: Void) -> Int? {
    guard count >= 4 else { return nil }
    for index in 0...(count - 4) where self[index...].starts(with: [13, 10, 13, 10]) { return index + 4 }
    return nil
  }
}
