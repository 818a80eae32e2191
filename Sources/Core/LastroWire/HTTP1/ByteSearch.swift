// SPDX-License-Identifier: Apache-2.0

/// Search and comparison eight bytes at a time.
extension UnsafeRawBufferPointer {
  /// Returns whether both buffers contain the same bytes.
  package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && commonPrefix(other) == count
  }

  /// Returns the length of the common prefix of both buffers.
  @inline(__always)
  func commonPrefix(_ other: UnsafeRawBufferPointer) -> Int {
    let length = Swift.min(count, other.count)
    guard let own = baseAddress, let others = other.baseAddress else { return 0 }
    var offset = 0
    while offset + 32 <= length {
      let first = own.word(at: offset) ^ others.word(at: offset)
      let second = own.word(at: offset + 8) ^ others.word(at: offset + 8)
      let third = own.word(at: offset + 16) ^ others.word(at: offset + 16)
      let fourth = own.word(at: offset + 24) ^ others.word(at: offset + 24)
      if first | second | third | fourth != 0 { break }
      offset += 32
    }
    while offset + 8 <= length {
      let difference = own.word(at: offset) ^ others.word(at: offset)
      if difference != 0 { return offset + difference.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < length, self[offset] == other[offset] { offset += 1 }
    return offset
  }

  /// Returns the position of the first LF at or after `start`.
  @inline(__always)
  func firstLineFeed(from start: Int) -> Int? {
    guard let base = baseAddress else { return nil }
    var offset = start
    while offset + 8 <= count {
      let marks = Self.marks(of: 0x0A, in: base.word(at: offset))
      if marks != 0 { return offset + marks.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < count {
      if self[offset] == 0x0A { return offset }
      offset += 1
    }
    return nil
  }

  /// Returns whether all bytes are allowed in a field value, and whether they are ASCII.
  @inline(__always)
  func isFieldValue() -> (isValid: Bool, isASCII: Bool) {
    guard let base = baseAddress else { return (true, true) }
    var offset = 0
    var union: UInt64 = 0
    while offset + 8 <= count {
      let word = base.word(at: offset)
      union |= word
      // A byte below 0x20, which may be a tab, or DEL. These are rare, so check the bytes one by one.
      let low = (word &- 0x2020_2020_2020_2020) & ~word & 0x8080_8080_8080_8080
      if low | Self.marks(of: 0x7F, in: word) != 0 {
        for index in offset..<offset + 8 where !FieldSyntax.isValue(self[index]) { return (false, true) }
      }
      offset += 8
    }
    while offset < count {
      guard FieldSyntax.isValue(self[offset]) else { return (false, true) }
      union |= UInt64(self[offset])
      offset += 1
    }
    return (true, union & 0x8080_8080_8080_8080 == 0)
  }

  /// Returns a word that marks the first byte equal to `byte`. Later marks may be wrong.
  @inline(__always)
  private static func marks(of byte: UInt8, in word: UInt64) -> UInt64 {
    let difference = word ^ (UInt64(byte) &* 0x0101_0101_0101_0101)
    return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
  }
}

extension UnsafeRawPointer {
  /// Returns eight bytes as a word, the first byte lowest.
  @inline(__always)
  fileprivate func word(at offset: Int) -> UInt64 {
    UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }
}
