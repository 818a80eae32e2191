// SPDX-License-Identifier: Apache-2.0

/// A set of ASCII bytes, stored in two words. It represents the character classes of grammars.
package struct ByteSet: Sendable, Hashable {
  private let low: UInt64
  private let high: UInt64

  /// Returns the union of both sets.
  package func union(_ other: ByteSet) -> ByteSet { ByteSet(low: low | other.low, high: high | other.high) }

  /// Returns whether `byte` is in the set.
  package func contains(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<64: low >> UInt64(byte) & 1 == 1
    case 64..<128: high >> UInt64(byte - 64) & 1 == 1
    default: false
    }
  }
}

extension ByteSet {
  /// Makes the set of the ASCII characters of `text`.
  package init(_ text: StaticString) {
    var low: UInt64 = 0
    var high: UInt64 = 0
    text.withUTF8Buffer { bytes in
      for byte in bytes where byte < 128 {
        if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
      }
    }
    self.init(low: low, high: high)
  }

  /// The characters `unreserved` of RFC 3986 §2.3.
  package static let unreserved = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
  /// The characters `pchar` of RFC 3986 §3.3 without percent-encoding, and `/`.
  package static let path = unreserved.union(ByteSet("!$&'()*+,;=:@/"))
  /// The characters `query` of RFC 3986 §3.4 without percent-encoding.
  package static let query = path.union(ByteSet("?"))
  /// The characters that the form serializer of the WHATWG URL standard does not encode, except for the space.
  package static let form = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789*-._")
  /// The characters `tchar` of RFC 9110 §5.6.2.
  package static let token = ByteSet("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~")
}
