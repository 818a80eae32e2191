// SPDX-License-Identifier: Apache-2.0

/// An authority in its most common form: an ASCII name without `xn--` labels, or an IPv4 address, with an optional
/// port.
///
/// A single pass over the bytes recognizes it without an allocation. Other authorities may still be valid: the full
/// parser handles them and reports reasons. For plain authorities, both parsers give the same result.
package struct PlainAuthority: Hashable {
  /// The length of the host in bytes, from the start.
  package let hostLength: Int
  /// Whether the host is an IPv4 address.
  package let isAddress: Bool
  /// Whether the host has no upper-case letters, and is therefore in canonical form.
  package let isLowerCase: Bool
  /// The port; `nil` if there is none.
  package let port: Int?

  /// Parses `host`, `host:` or `host:port`; `nil` for other forms.
  package init?(_ bytes: UnsafeBufferPointer<UInt8>) {
    let colon = UInt8(ascii: ":")
    var label = 0
    var end = 0
    var hasUpperCase = false
    while end < bytes.count, bytes[end] != colon {
      let byte = bytes[end]
      if byte == UInt8(ascii: ".") {
        guard Self.isPlainLabel(bytes, label, end) else { return nil }
        label = end + 1
      } else {
        guard Self.isLabelByte(byte) else { return nil }
        hasUpperCase = hasUpperCase || byte &- 65 < 26
      }
      end += 1
    }
    guard end <= 253, Self.isPlainLabel(bytes, label, end) else { return nil }
    // A host whose last label is numeric must be an address. Names such as a.1b are rare, so leave them to the full
    // parser.
    isAddress = Self.isDigit(bytes[label])
    guard !isAddress || Self.isIPv4(bytes, end) else { return nil }
    hostLength = end
    isLowerCase = !hasUpperCase
    if bytes.count - end < 2 {
      port = nil
    } else {
      guard let number = Self.port(bytes, end + 1) else { return nil }
      port = number
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }

  /// Returns whether the byte is `unreserved` (RFC 3986 §2.3) and not a dot.
  private static func isLabelByte(_ byte: UInt8) -> Bool {
    byte | 32 &- 97 < 26 || Self.isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "~")
  }

  private static func isPlainLabel(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
    guard start < end, end - start <= 63 else { return false }
    let hyphen = UInt8(ascii: "-")
    return end - start < 4 || bytes[start + 2] != hyphen || bytes[start + 3] != hyphen
      || bytes[start] | 32 != UInt8(ascii: "x") || bytes[start + 1] | 32 != UInt8(ascii: "n")
  }

  /// Returns whether the host consists of four numbers from 0 to 255 without leading zeros. Empty labels were rejected
  /// before.
  private static func isIPv4(_ bytes: UnsafeBufferPointer<UInt8>, _ end: Int) -> Bool {
    var dots = 0
    var digits = 0
    var value = 0
    for index in 0..<end {
      if bytes[index] == UInt8(ascii: ".") {
        dots += 1
        digits = 0
        value = 0
      } else {
        guard Self.isDigit(bytes[index]), digits == 0 || value > 0 else { return false }
        digits += 1
        value = value * 10 + Int(bytes[index] - 48)
        guard value < 256 else { return false }
      }
    }
    return dots == 3
  }

  private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Int? {
    guard bytes.count - start <= 5 else { return nil }
    var port = 0
    for index in start..<bytes.count {
      guard Self.isDigit(bytes[index]) else { return nil }
      port = port * 10 + Int(bytes[index] - 48)
    }
    return 1...65_535 ~= port ? port : nil
  }
}

extension PlainAuthority {
  /// Parses a text; `nil` also if it is not stored as contiguous UTF-8.
  package init?(_ text: String) {
    guard let plain = text.utf8.withContiguousStorageIfAvailable({ PlainAuthority($0) }) ?? nil else { return nil }
    self = plain
  }
}
