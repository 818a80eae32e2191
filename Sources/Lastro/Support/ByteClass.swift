// SPDX-License-Identifier: Apache-2.0

/// Classes of bytes that grammars of HTTP and URLs are made of.
enum ByteClass {
  /// `tchar` (RFC 9110 §5.6.2).
  static func isToken(_ byte: UInt8) -> Bool {
    isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }

  /// What may stand in a field value (RFC 9110 §5.5): no control character but the tab.
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

  static func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x66 }

  static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A }

  /// `unreserved` (RFC 3986 §2.3).
  static func isUnreserved(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "-._~".utf8.contains(byte) }

  /// `pchar` or `/` (RFC 3986 §3.3), without `%`.
  static func isPath(_ byte: UInt8) -> Bool { isUnreserved(byte) || "!$&'()*+,;=:@/".utf8.contains(byte) }

  /// `query` (RFC 3986 §3.4), without `%`.
  static func isQuery(_ byte: UInt8) -> Bool { isPath(byte) || byte == 0x3F }
}
