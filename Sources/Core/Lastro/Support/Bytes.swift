// SPDX-License-Identifier: Apache-2.0

extension UInt8 {
  /// Whether the byte is an ASCII control character (RFC 5234 appendix B.1, CTL).
  package var isControl: Bool { self < 0x20 || self == 0x7F }

  /// Whether the byte is a space or a tab (OWS, RFC 9110 §5.6.3).
  package var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension Substring {
  /// The text without spaces and tabs at both ends. Bytes are compared, so a space that a combining mark follows is
  /// removed too.
  package var withoutBlanks: Substring {
    guard let first = utf8.firstIndex(where: { !$0.isBlank }), let last = utf8.lastIndex(where: { !$0.isBlank })
    else { return "" }
    return Substring(utf8[first...last])
  }
}
