// SPDX-License-Identifier: Apache-2.0

/// Validates UTF-8 (RFC 3629) piece by piece, and rejects the first byte that cannot be part of it.
package struct UTF8Validator {
  /// The number of continuation bytes that the current scalar still needs.
  private var missing = 0
  /// The range of the next continuation byte. The second byte of some scalars is restricted further, to exclude
  /// overlong forms, surrogates, and values above U+10FFFF.
  private var lower: UInt8 = 0x80
  private var upper: UInt8 = 0xBF

  package init() {}

  /// Whether the input so far does not end within a scalar.
  package var isComplete: Bool { missing == 0 }

  /// Validates the next bytes. Returns false if they cannot be UTF-8, regardless of later bytes.
  package mutating func consume(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if missing == 0 {
        while index + 8 <= bytes.count,
          bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
          index += 8
        }
        guard index < bytes.count else { break }
      }
      guard consume(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private mutating func consume(_ byte: UInt8) -> Bool {
    if missing > 0 {
      guard byte >= lower, byte <= upper else { return false }
      expect(missing - 1)
      return true
    }
    switch byte {
    case ..<0x80: break
    case 0xC2...0xDF: expect(1)
    case 0xE0: expect(2, from: 0xA0)
    case 0xED: expect(2, to: 0x9F)
    case 0xE1...0xEF: expect(2)
    case 0xF0: expect(3, from: 0x90)
    case 0xF1...0xF3: expect(3)
    case 0xF4: expect(3, to: 0x8F)
    default: return false
    }
    return true
  }

  private mutating func expect(_ count: Int, from lower: UInt8 = 0x80, to upper: UInt8 = 0xBF) {
    missing = count
    self.lower = lower
    self.upper = upper
  }
}
