// SPDX-License-Identifier: Apache-2.0

extension Redaction {
  /// Text of any kind as it may be seen: after every secret name in JSON, form, query or header notation the value is
  /// masked, and so is user information in URLs.
  ///
  /// It does not parse, so text that was cut off is handled as well: a value without an end is masked to the end.
  public func text(_ text: String) -> String {
    var result = ""
    var rest = Self.maskingUserInformation(text)[...]
    while let word = rest.firstIndex(where: Self.isWordCharacter) {
      result += rest[..<word]
      rest = rest[word...]
      let name = rest.prefix(while: Self.isWordCharacter)
      result += name
      rest = rest[name.endIndex...]
      let separator = rest.prefix { " \t\n\"':=\\".contains($0) }
      let hasEquals = separator.contains("=")
      guard isSecret(name: String(name), inQuery: hasEquals) else { continue }
      let isScheme =
        name.lowercased() == "bearer" && !separator.isEmpty && separator.allSatisfy { $0 == " " }
      guard hasEquals || separator.contains(":") || isScheme else { continue }
      let value = Self.value(in: rest[separator.endIndex...], quote: separator.last)
      guard !value.isEmpty else { continue }
      result += separator
      result += Self.mask
      rest = rest[value.endIndex...]
    }
    return result + rest
  }

  /// `user:password@` after every `://`, masked.
  static func maskingUserInformation(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "@")) else { return text }
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "://")?.upperBound {
      result += rest[..<start]
      rest = rest[start...]
      let authority = rest.prefix { !"/?#\"'<>\\".contains($0) && !$0.isWhitespace }
      if let at = authority.lastIndex(of: "@") {
        result += mask
        rest = rest[at...]
      }
    }
    return result + rest
  }

  /// The value at the beginning of a text: a quoted string, an object or array as a whole, or up to a delimiter.
  private static func value(in text: Substring, quote: Character?) -> Substring {
    if let quote, quote == "\"" || quote == "'" { return text[..<end(ofQuoted: text, by: quote)] }
    guard text.hasPrefix("[") || text.hasPrefix("{") else {
      return text.prefix { !",;&}]\r\n".contains($0) && $0 != "\r\n" }
    }
    var depth = 0
    var index = text.startIndex
    while index < text.endIndex {
      let character = text[index]
      index = text.index(after: index)
      switch character {
      case "[", "{": depth += 1
      case "]", "}":
        depth -= 1
        if depth == 0 { return text[..<index] }
      case "\"":
        index = end(ofQuoted: text[index...], by: "\"")
        if index < text.endIndex { index = text.index(after: index) }
      default: break
      }
    }
    return text
  }

  /// Where the closing quote is; the end of the text where there is none.
  private static func end(ofQuoted text: Substring, by quote: Character) -> Substring.Index {
    var isEscaped = false
    return text.prefix { character in
      defer { isEscaped = character == "\\" && !isEscaped }
      return character != quote || isEscaped
    }.endIndex
  }

  private static func isWordCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "-"
  }
}
