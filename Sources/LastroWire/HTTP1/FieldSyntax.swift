// SPDX-License-Identifier: Apache-2.0

/// The grammar that fields share (RFC 9110 §5.6).
package enum FieldSyntax {
  /// Whether a byte may be in a token: `tchar` (§5.6.2).
  package static func isToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
    default: false
    }
  }

  /// Whether a byte may be in a field's value (§5.5): no control character but the tab.
  static func isValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// The elements of a list of tokens (§5.6.1), without the blanks around them.
  package static func elements(_ text: String) -> [String] {
    text.utf8.split(separator: 0x2C).compactMap { part in
      guard let first = part.firstIndex(where: { !isSpace($0) }), let last = part.lastIndex(where: { !isSpace($0) })
      else { return nil }
      return String(Substring(part[first...last]))
    }
  }
}
