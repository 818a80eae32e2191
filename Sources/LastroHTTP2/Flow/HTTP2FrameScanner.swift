// SPDX-License-Identifier: Apache-2.0

/// Finds the heads of frames (RFC 9113 §4.1) in bytes that come in parts. nghttp2 tells nothing of frames that it
/// ignores, which cost as much as others.
struct HTTP2FrameScanner {
  struct Head {
    /// `nil` for types that RFC 9113 does not have.
    var type: HTTP2FrameType?
    var stream: Int32
    var length: Int
    /// Where in the input it begins; 0 if it began before.
    var start: Int
  }

  private static let headBytes = 9

  /// Bytes of a head that came in parts.
  private var part: (UInt64, UInt8) = (0, 0)
  private var partCount = 0
  /// What is left of a payload.
  private var skipped = 0

  /// The next head, from `position` on, which is moved behind it and over its payload; `nil` where the input ends
  /// before.
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
