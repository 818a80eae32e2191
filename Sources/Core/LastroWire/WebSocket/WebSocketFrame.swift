// SPDX-License-Identifier: Apache-2.0

/// The role of one side of a WebSocket. Clients mask frames, servers do not (RFC 6455 §5.1).
package enum WebSocketRole: Sendable {
  case client
  case server
}

/// The type of a message (RFC 6455 §5.6).
package enum WebSocketKind: Sendable, Hashable {
  case text
  case binary
}

/// The opcode of a frame (RFC 6455 §5.2).
package enum WebSocketOpcode: UInt8, Sendable {
  case continuation = 0
  case text = 1
  case binary = 2
  case close = 8
  case ping = 9
  case pong = 10

  package var isControl: Bool { rawValue >= 8 }
}

/// A rule that the peer broke, or a limit that it exceeded.
package typealias WebSocketViolation = WireViolation<WebSocketFault>

/// The rules that a WebSocket's peer may break, and the limits that it may exceed.
package enum WebSocketFault: Equatable, Sendable {
  case reservedBits
  case opcode
  case masking
  case control
  case length
  case fragmentation
  case utf8
  case closePayload
  case compression
  case frameTooLarge
  case messageTooLarge
}

extension WebSocketViolation {
  /// The code of the Close frame that is sent to the peer (RFC 6455 §7.4.1).
  package var closeCode: UInt16 {
    switch kind {
    case .utf8, .compression: 1007
    case .frameTooLarge, .messageTooLarge: 1009
    default: 1002
    }
  }
}

/// The validated head of a frame.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-------+-+-------------+-------------------------------+
/// |F|R|R|R| opcode|M| Payload len |    Extended payload length    |
/// |I|S|S|S|  (4)  |A|     (7)     |             (16/64)           |
/// |N|V|V|V|       |S|             |   (if payload len==126/127)   |
/// | |1|2|3|       |K|             |                               |
/// +-+-+-+-+-------+-+-------------+ - - - - - - - - - - - - - - - +
/// ```
struct WebSocketFrameHead: Equatable {
  /// The maximum length of a head in bytes.
  static let maximumBytes = 14

  var isFinal: Bool
  var isCompressed: Bool
  var opcode: WebSocketOpcode
  /// The mask key, with its first byte lowest.
  var key: UInt32?
  var length: Int

  /// Parses a head once it is complete, and rejects an incomplete head as soon as its bytes are invalid.
  ///
  /// - Returns: the head and its own length, or `nil` if bytes are missing.
  static func parse(
    _ bytes: UnsafeRawBufferPointer, from peer: WebSocketRole, allowsCompression: Bool
  ) throws(WebSocketViolation) -> (head: WebSocketFrameHead, size: Int)? {
    guard let first = bytes.first else { return nil }
    guard first & 0x30 == 0 else { throw WebSocketViolation(.reservedBits, "a frame has RSV2 or RSV3 set") }
    guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else {
      throw WebSocketViolation(.opcode, "a frame has the reserved opcode \(first & 0x0F)")
    }
    let isFinal = first & 0x80 != 0, isCompressed = first & 0x40 != 0
    guard !isCompressed || allowsCompression && (opcode == .text || opcode == .binary) else {
      throw WebSocketViolation(.reservedBits, "a frame has RSV1 set without an extension that uses it")
    }
    guard isFinal || !opcode.isControl else {
      throw WebSocketViolation(.control, "a control frame is fragmented")
    }
    guard bytes.count >= 2 else { return nil }
    let isMasked = bytes[1] & 0x80 != 0
    guard isMasked == (peer == .client) else {
      throw WebSocketViolation(.masking, isMasked ? "a server masked a frame" : "a client did not mask a frame")
    }
    guard !opcode.isControl || bytes[1] & 0x7F <= 125 else {
      throw WebSocketViolation(.control, "a control frame has more than 125 bytes")
    }
    guard let (length, lengthEnd) = try length(bytes) else { return nil }
    let size = lengthEnd + (isMasked ? 4 : 0)
    guard bytes.count >= size else { return nil }
    let key = isMasked ? UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: lengthEnd, as: UInt32.self)) : nil
    let head = WebSocketFrameHead(
      isFinal: isFinal, isCompressed: isCompressed, opcode: opcode, key: key, length: length)
    return (head, size)
  }

  private static func length(
    _ bytes: UnsafeRawBufferPointer
  ) throws(WebSocketViolation) -> (length: Int, end: Int)? {
    switch bytes[1] & 0x7F {
    case 126:
      guard bytes.count >= 4 else { return nil }
      let length = Int(bytes[2]) << 8 | Int(bytes[3])
      guard length > 125 else { throw notMinimal }
      return (length, 4)
    case 127:
      guard bytes.count >= 3 else { return nil }
      guard bytes[2] & 0x80 == 0 else {
        throw WebSocketViolation(.length, "the length of a frame has its highest bit set")
      }
      guard bytes.count >= 10 else { return nil }
      let length = Int(UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self)))
      guard length > 0xFFFF else { throw notMinimal }
      return (length, 10)
    case let short: return (Int(short), 2)
    }
  }

  private static var notMinimal: WebSocketViolation {
    WebSocketViolation(.length, "the length of a frame takes more bytes than it needs")
  }

  /// Appends the encoded head to a frame.
  func append(to bytes: inout [UInt8]) {
    bytes.append((isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue)
    let mask: UInt8 = key == nil ? 0 : 0x80
    switch length {
    case ...125: bytes.append(mask | UInt8(length))
    case ...0xFFFF: bytes += [mask | 126, UInt8(length >> 8), UInt8(length & 0xFF)]
    default:
      bytes.append(mask | 127)
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: length >> shift)) }
    }
    if let key {
      for shift in stride(from: 0, through: 24, by: 8) { bytes.append(UInt8(truncatingIfNeeded: key >> UInt32(shift))) }
    }
  }
}
