// SPDX-License-Identifier: Apache-2.0

@testable import LastroWire

/// What a decoder made of bytes, with the pieces of each message joined.
struct WebSocketFeeding {
  enum Event: Equatable {
    case text([UInt8])
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
  }

  var events: [Event] = []
  var violation: WebSocketViolation?
  /// Bytes that had been handed in when the violation was noticed.
  var violationAt: Int?
  private var message: [UInt8] = []

  /// - Parameter cuts: where the bytes are cut, in order.
  init(
    _ bytes: [UInt8], cuts: [Int] = [], role: WebSocketRole = .client, deflate: WebSocketDeflate? = nil,
    maximumFrameBytes: Int = .max, maximumMessageBytes: Int? = nil, maximumPieceBytes: Int = 65_536
  ) {
    var decoder = WebSocketDecoder(
      .init(
        role: role, deflate: deflate, maximumFrameBytes: maximumFrameBytes, maximumMessageBytes: maximumMessageBytes,
        maximumPieceBytes: maximumPieceBytes))
    var start = 0
    do throws(WebSocketViolation) {
      for end in cuts + [bytes.count] {
        bytes[start..<end].withUnsafeBytes { decoder.receive($0) }
        start = end
        while let event = try decoder.next() { note(event) }
      }
    } catch {
      violation = error
      violationAt = start
    }
  }

  /// One byte at a time.
  static func byteByByte(_ bytes: [UInt8], role: WebSocketRole = .client, deflate: WebSocketDeflate? = nil) -> Self {
    Self(bytes, cuts: Array(1..<max(1, bytes.count)), role: role, deflate: deflate)
  }

  private mutating func note(_ event: WebSocketDecoder.Event) {
    switch event {
    case .piece(let piece):
      if piece.isFirst { message = [] }
      message += piece.bytes
      if piece.isFinal { events.append(piece.kind == .text ? .text(message) : .binary(message)) }
    case .ping(let payload): events.append(.ping(payload))
    case .pong(let payload): events.append(.pong(payload))
    case .close(let code, let reason): events.append(.close(code, reason))
    }
  }
}

extension WebSocketEncoder {
  /// A frame of bytes in an array.
  mutating func frame(
    _ kind: WebSocketKind, _ bytes: [UInt8], isFirst: Bool = true, isFinal: Bool = true, key: UInt32 = 0
  ) -> [UInt8] {
    var frame: [UInt8] = []
    bytes.withUnsafeBytes { data(kind, $0, isFirst: isFirst, isFinal: isFinal, key: key, into: &frame) }
    return frame
  }

  /// A control frame.
  mutating func control(_ opcode: WebSocketOpcode, _ payload: [UInt8] = [], key: UInt32) -> [UInt8] {
    var frame: [UInt8] = []
    control(opcode, payload, key: key, into: &frame)
    return frame
  }
}

extension SplitMix {
  mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
