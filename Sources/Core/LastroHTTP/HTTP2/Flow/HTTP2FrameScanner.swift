// SPDX-License-Identifier: Apache-2.0

/// Finds frame headers (RFC 9113 §4.1) in a byte stream that arrives in pieces. nghttp2 does not report frames that it
/// ignores, although they cost as much as others.
struct HTTP2FrameScanner {
  struct Head {
    /// The type; `nil` for types that RFC 9113 does not define.
    var type: HTTP2FrameType?
    var stream: Int32
    var length: Int
    /// The frame's offset in the input; 0 if the frame began in an earlier piece.
    var start: Int
  }

  private static let headBytes = 9

  /// The bytes of a frame header that arrived in pieces.
  private var part: (UInt64, UInt8) = (0, 0)
  private var partCount = 0
  /// The number of payload bytes that are still to be skipped.
  private var skipped = 0

  /// Returns the next frame header at or after `position`, and moves `position` past it. A payload is skipped by the
  /// next call. `nil` if the input ends first.
  mutating func next(_ input: UnsafeRawBufferPointer, from position: inout Int) -> Head? {
    let count = min(skipped, input.count - position)
    skipped -= count
    position += count
    guard skipped == 0, position < input.count else { return nil }
    var start = position
    if partCount == 0, input.count - position >= Self.headBytes {
      part.0 = UInt64(bigEndian: input.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      part.1 = input[position + 8]
      position += Self.headBytes
    } else {
      if partCount > 0 { start = 0 }
      while partCount < Self.headBytes, position < input.count { collect(input[position]); position += 1 }
      guard partCount == Self.headBytes else { return nil }
      partCount = 0
    }
    let length = Int(part.0 >> 40)
    let stream = Int32(truncatingIfNeeded: (part.0 & 0x7F_FFFF) << 8 | UInt64(part.1))
    skipped = length
    return Head(
      type: HTTP2FrameType(rawValue: UInt8(truncatingIfNeeded: part.0 >> 32)), stream: stream, length: length,
      start: start)
  }

  private mutating func collect(_ byte: UInt8) {
    if partCount == 0 { part = (0, 0) }
    if partCount < 8 { part.0 |= UInt64(byte) << (56 - 8 * partCount) } else { part.1 = byte }
    partCount += 1
  }
}
