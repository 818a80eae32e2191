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
  private static let flagsOffset = 4

  /// The bytes of a frame header so far, without its flags.
  private var part: UInt64 = 0
  private var partCount = 0
  /// The number of payload bytes that are still to be skipped.
  private var skipped = 0

  /// Returns the next frame header at or after `position`, and moves `position` past it. A payload is skipped by the
  /// next call. `nil` if the input ends first.
  mutating func next(_ input: UnsafeRawBufferPointer, from position: inout Int) -> Head? {
    let count = min(skipped, input.count - position)
    skipped -= count
    position += count
    guard skipped == 0 else { return nil }
    let start = partCount == 0 ? position : 0
    while partCount < Self.headBytes, position < input.count {
      if partCount != Self.flagsOffset { part = part << 8 | UInt64(input[position]) }
      partCount += 1
      position += 1
    }
    guard partCount == Self.headBytes else { return nil }
    partCount = 0
    skipped = Int(part >> 40)
    return Head(
      type: HTTP2FrameType(rawValue: UInt8(truncatingIfNeeded: part >> 32)),
      stream: Int32(truncatingIfNeeded: part & 0x7FFF_FFFF), length: skipped, start: start)
  }
}
