// SPDX-License-Identifier: Apache-2.0

/// The grammar that fields share (RFC 9110 §5.6).
package enum FieldSyntax {
  /// Returns whether a byte is allowed in a token: `tchar` (§5.6.2).
  package static func isToken(_ byte: UInt8) -> Bool {
    (byte < 64 ? lowTokens : byte < 128 ? highTokens : 0) >> UInt64(byte & 63) & 1 != 0
  }

  /// A bit set of the bytes that are allowed in a token: letters, digits, and `!#$%&'*+-.^_`|~`.
  private static let lowTokens: UInt64 = 0x03FF_6CFA_0000_0000
  private static let highTokens: UInt64 = 0x57FF_FFFF_C7FF_FFFE

  /// Returns whether a byte is allowed in a field value (§5.5): no control characters except tab.
  package static func isValue(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  /// Returns whether a name in `Content-Encoding` means that the body is not encoded: `identity`, and three names that
  /// servers send by mistake. `none` and `UTF-8` are not codings, and a body that was uploaded as `aws-chunked` is
  /// stored without its chunks.
  package static func isNoContentCoding(_ name: String) -> Bool {
    switch name.utf8.count {
    case 0: true
    case 4: name.isASCII("none")
    case 5: name.isASCII("utf-8")
    case 8: name.isASCII("identity")
    case 11: name.isASCII("aws-chunked")
    default: false
    }
  }

  /// Returns the elements of a list of tokens (§5.6.1), without surrounding blanks.
  package static func elements(_ text: String) -> [String] {
    text.utf8.split(separator: 0x2C).compactMap { part in
      let element = part.withoutSpaces
      return element.isEmpty ? nil : String(Substring(element))
    }
  }
}
