// SPDX-License-Identifier: Apache-2.0

/// A piece of a message. It is unmasked, decompressed and, for text, validated.
package struct WebSocketPiece: Equatable, Sendable {
  package var kind: WebSocketKind
  /// The bytes of the piece. In a text message, a scalar may be split between two pieces.
  package var bytes: [UInt8]
  /// Whether the piece begins a message.
  package var isFirst: Bool
  /// Whether the piece ends the message. If the end is found only after the last bytes, the last piece is empty.
  package var isFinal: Bool

  package init(_ kind: WebSocketKind, _ bytes: [UInt8], isFirst: Bool = true, isFinal: Bool = true) {
    self.kind = kind
    self.bytes = bytes
    self.isFirst = isFirst
    self.isFinal = isFinal
  }
}

/// Decodes frames and returns their content piece by piece, as soon as it is available.
///
/// Pass bytes to ``receive(_:)`` and call ``next()`` for one event at a time. A message that expands a thousandfold is
/// therefore never in memory as a whole. A violation is reported at the first byte that proves it.
package struct WebSocketDecoder: ~Copyable {
  /// The limits and the negotiated extensions.
  package struct Configuration: Sendable {
    /// The role of this side. Frames come from the other side.
    package var role: WebSocketRole
    package var deflate: WebSocketDeflate?
    /// The maximum payload of a data frame in bytes, as sent. Control frames are always limited to 125 bytes.
    package var maximumFrameBytes: Int
    /// The maximum size of a decompressed message in bytes; `nil` for no limit.
    package var maximumMessageBytes: Int?
    /// The maximum size of a piece in bytes.
    package var maximumPieceBytes: Int

    package init(
      role: WebSocketRole, deflate: WebSocketDeflate? = nil, maximumFrameBytes: Int = .max,
      maximumMessageBytes: Int? = 1 << 20, maximumPieceBytes: Int = 65_536
    ) {
      self.role = role
      self.deflate = deflate
      self.maximumFrameBytes = maximumFrameBytes
      self.maximumMessageBytes = maximumMessageBytes
      self.maximumPieceBytes = max(1, maximumPieceBytes)
    }
  }

  package enum Event: Equatable, Sendable {
    case piece(WebSocketPiece)
    case ping([UInt8])
    case pong([UInt8])
    /// A Close frame was received. This is the last event: later bytes are ignored (RFC 6455 §1.4).
    case close(code: UInt16?, reason: String)
  }

  private struct Message {
    var kind: WebSocketKind
    var isCompressed: Bool
    var isBegun = false
    var size = 0
    var utf8 = UTF8Validator()
  }

  private struct Frame {
    var head: WebSocketFrameHead
    var consumed = 0
    var hasTail = false
    var left: Int { head.length - consumed }
  }

  private let configuration: Configuration
  private var input: [UInt8] = []
  private var position = 0
  private var frame: Frame?
  private var message: Message?
  private var inflater: WebSocketInflater?
  private var isClosed = false

  package init(_ configuration: Configuration) { self.configuration = configuration }

  /// Whether a data frame has begun and not ended, so that no other frame can be received first.
  package var isInsideDataFrame: Bool { frame.map { !$0.head.opcode.isControl && $0.left > 0 } ?? false }

  /// Adds received bytes. Call ``next()`` until it returns `nil` before you add more.
  package mutating func receive(_ bytes: UnsafeRawBufferPointer) {
    guard !isClosed else { return }
    if position == input.count {
      input.removeAll(keepingCapacity: true)
    } else if position > 0 {
      input.removeFirst(position)
    }
    position = 0
    input += bytes
  }

  /// Returns the next event; `nil` if more bytes are needed.
  ///
  /// - Throws: ``WebSocketViolation``. The decoder must not be used any more then.
  package mutating func next() throws(WebSocketViolation) -> Event? {
    while !isClosed {
      if frame == nil {
        guard try beginFrame() else { return nil }
      }
      guard let current = frame else { return nil }
      if current.head.opcode.isControl {
        guard input.count - position >= current.head.length else { return nil }
        return try control(current.head)
      }
      switch try data() {
      case .event(let event): return event
      case .again: continue
      case .starved: return nil
      }
    }
    return nil
  }

  private mutating func beginFrame() throws(WebSocketViolation) -> Bool {
    let peer: WebSocketRole = configuration.role == .client ? .server : .client
    let allowsCompression = configuration.deflate != nil
    let parsed = try input.withBytes { bytes throws(WebSocketViolation) in
      try WebSocketFrameHead.parse(
        UnsafeRawBufferPointer(rebasing: bytes[position...]), from: peer, allowsCompression: allowsCompression)
    }
    guard let (head, size) = parsed else { return false }
    guard head.opcode.isControl || head.length <= configuration.maximumFrameBytes else {
      throw WebSocketViolation(
        .frameTooLarge, "a frame has \(head.length) bytes, above the maximum of \(configuration.maximumFrameBytes)")
    }
    if !head.opcode.isControl { try beginData(head) }
    position += size
    frame = Frame(head: head)
    return true
  }

  private mutating func beginData(_ head: WebSocketFrameHead) throws(WebSocketViolation) {
    if head.opcode == .continuation {
      guard message != nil else {
        throw WebSocketViolation(.fragmentation, "a continuation frame has no message to continue")
      }
    } else {
      guard message == nil else {
        throw WebSocketViolation(.fragmentation, "a new message begins inside an unfinished one")
      }
      message = Message(kind: head.opcode == .text ? .text : .binary, isCompressed: head.isCompressed)
    }
    if let message, !message.isCompressed { try checkSize(message.size, plus: head.length) }
  }

  private func checkSize(_ size: Int, plus more: Int) throws(WebSocketViolation) {
    if let limit = configuration.maximumMessageBytes, more > limit - size {
      throw WebSocketViolation(.messageTooLarge, "a message has more than \(limit.counted("byte"))")
    }
  }

  private mutating func control(_ head: WebSocketFrameHead) throws(WebSocketViolation) -> Event {
    let payload = consumePayload(head.length, of: Frame(head: head))
    frame = nil
    switch head.opcode {
    case .ping: return .ping(payload)
    case .pong: return .pong(payload)
    default:
      let (code, reason) = try WebSocketCloseRules.parse(payload)
      isClosed = true
      input = []
      position = 0
      return .close(code: code, reason: reason)
    }
  }

  private mutating func consumePayload(_ count: Int, of frame: Frame) -> [UInt8] {
    var bytes = Array(input[position..<position + count])
    position += count
    if let key = frame.head.key {
      bytes.withUnsafeMutableBytes { WebSocketMask.apply(key, to: $0, offset: frame.consumed) }
    }
    return bytes
  }

  private enum Step {
    case event(Event)
    case again
    case starved
  }

  private mutating func data() throws(WebSocketViolation) -> Step {
    guard var current = frame, let message else { return .starved }
    if message.isCompressed { return try inflated(&current) }
    let count = min(current.left, input.count - position, configuration.maximumPieceBytes)
    guard count > 0 || current.left == 0 else { return .starved }
    let bytes = consumePayload(count, of: current)
    current.consumed += count
    return try emit(bytes, endsFrame: current.left == 0, current)
  }

  private mutating func inflated(_ current: inout Frame) throws(WebSocketViolation) -> Step {
    if inflater == nil {
      let bits = configuration.deflate?.windowBits(of: configuration.role == .client ? .server : .client)
      inflater = WebSocketInflater(windowBits: bits ?? 15)
      guard inflater != nil else { throw WebSocketViolation(.compression, "out of memory for decompression") }
    }
    let count = min(current.left, input.count - position, configuration.maximumPieceBytes)
    if count > 0, inflater?.isDrained ?? true {
      let bytes = consumePayload(count, of: current)
      inflater?.append(bytes)
      current.consumed += count
    }
    if current.left == 0, current.head.isFinal, !current.hasTail {
      inflater?.appendTail()
      current.hasTail = true
    }
    frame = current
    let output = try inflater?.inflate(upTo: configuration.maximumPieceBytes) ?? []
    try checkSize(message?.size ?? 0, plus: output.count)
    let isDone = output.count < configuration.maximumPieceBytes
    if !isDone { return try emit(output, endsFrame: false, current) }
    if current.left > 0 {
      if output.isEmpty { return position < input.count ? .again : .starved }
      return try emit(output, endsFrame: false, current)
    }
    if current.head.isFinal { try endInflated() }
    return try emit(output, endsFrame: true, current)
  }

  private mutating func endInflated() throws(WebSocketViolation) {
    guard inflater?.isAtBlockEnd ?? false else {
      throw WebSocketViolation(.compression, "a compressed message ends in the middle")
    }
    if configuration.deflate?.forgetsContext(of: configuration.role == .client ? .server : .client) ?? false {
      inflater?.reset()
    }
  }

  private mutating func emit(
    _ bytes: [UInt8], endsFrame: Bool, _ current: Frame
  ) throws(WebSocketViolation) -> Step {
    guard var message else { return .starved }
    let isFinal = endsFrame && current.head.isFinal
    message.size += bytes.count
    if message.kind == .text {
      let isValid = bytes.withUnsafeBytes { message.utf8.consume($0) }
      guard isValid, !isFinal || message.utf8.isComplete else {
        throw WebSocketViolation(.utf8, "a text message is not UTF-8")
      }
    }
    frame = endsFrame ? nil : current
    let isFirst = !message.isBegun
    guard !bytes.isEmpty || isFinal else {
      self.message = message
      return .again
    }
    message.isBegun = true
    self.message = isFinal ? nil : message
    return .event(.piece(WebSocketPiece(message.kind, bytes, isFirst: isFirst, isFinal: isFinal)))
  }
}
