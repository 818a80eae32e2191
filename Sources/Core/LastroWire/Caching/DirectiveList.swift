// SPDX-License-Identifier: Apache-2.0

/// A parser for lists whose members may contain quoted strings (RFC 9110 §5.6.1, §5.6.4).
enum DirectiveList {
  /// Returns the members without surrounding blanks. An unterminated quoted string is not treated as quoted: its commas
  /// separate members, so that it does not hide later directives.
  static func parts(of line: String) -> [Substring] {
    var parts: [Substring] = []
    var start = line.startIndex
    var index = start
    // If one string is unterminated, so are all later ones: search only once.
    var mayQuote = true
    while index < line.endIndex {
      let byte = line.utf8[index]
      let end = mayQuote && byte == UInt8(ascii: "\"") ? endOfQuoted(line[index...]) : nil
      if let end {
        index = end
      } else {
        if byte == UInt8(ascii: "\"") { mayQuote = false }
        if byte == UInt8(ascii: ",") {
          append(line[start..<index], to: &parts)
          start = line.utf8.index(after: index)
        }
        index = line.utf8.index(after: index)
      }
    }
    append(line[start...], to: &parts)
    return parts
  }

  /// Returns the content of a text that is a single quoted string; `nil` for any other text.
  static func unquoted(_ text: Substring) -> String? {
    guard text.utf8.first == UInt8(ascii: "\""), endOfQuoted(text) == text.endIndex else { return nil }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in text.utf8.dropFirst().dropLast() {
      if !isEscaped, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else {
        bytes.append(byte)
        isEscaped = false
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func append(_ part: Substring, to parts: inout [Substring]) {
    let member = part.utf8.withoutSpaces
    if !member.isEmpty { parts.append(Substring(member)) }
  }

  /// Returns the index after the closing quote of a string, whose first byte is a quote.
  private static func endOfQuoted(_ text: Substring) -> Substring.Index? {
    var isEscaped = false
    var index = text.utf8.index(after: text.startIndex)
    while index < text.endIndex {
      let byte = text.utf8[index]
      index = text.utf8.index(after: index)
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        return index
      }
    }
    return nil
  }
}
