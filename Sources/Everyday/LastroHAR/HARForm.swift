// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Masking of `multipart/form-data` bodies (RFC 7578), in which a secret is on a line below its name.
enum HARForm {
  /// Returns a body with its secrets masked: those that `Redaction.text(_:)` recognises, and parts with secret names.
  ///
  /// - Parameter isCut: whether the text was cut at its end.
  static func masked(_ text: String, by redaction: Redaction, isCut: Bool = false) -> String {
    guard text.utf8.contains(UInt8(ascii: "\n")), text.contains("name=\""),
      text.lowercased().contains("content-disposition")
    else { return redaction.text(text, isCut: isCut) }
    // Search by scalars: CR LF is a single `Character`.
    var result = ""
    var rest = Substring(text)
    while let name = rest.firstRange(of: "name=\"") {
      let end = value(after: name.upperBound, of: rest, redaction)
      result += rest[..<end.lowerBound]
      if !end.isEmpty { result += Redaction.mask }
      rest = rest[end.upperBound...]
    }
    return redaction.text(result + rest, isCut: isCut)
  }

  /// Returns the content of a part with a secret name; an empty range if the name is not secret. If the end of the
  /// part's head is not found, returns all the rest: the part may be truncated or malformed.
  private static func value(
    after start: String.Index, of text: Substring, _ redaction: Redaction
  ) -> Range<String.Index> {
    let name = text[start...].prefix { $0 != "\"" && !$0.isNewline }
    guard redaction.isSecret(name: String(name), inQuery: true) else { return name.endIndex..<name.endIndex }
    let rest = text.utf8[name.endIndex...]
    guard let start = endOfBlankLine(in: rest) else { return name.endIndex..<text.endIndex }
    return start..<(delimiter(in: rest[start...]) ?? text.endIndex)
  }

  // Both functions search for the end of a line and then examine what follows. A search for each notation separately
  // would scan to the end of the text for the notation that is not used, once per part.

  /// Returns the end of the first blank line, with LF or CRLF as line ends.
  private static func endOfBlankLine(in text: Substring.UTF8View) -> String.Index? {
    var rest = text
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      rest = rest[text.index(after: end)...]
      let line = rest.first == UInt8(ascii: "\r") ? rest.dropFirst() : rest
      if line.first == UInt8(ascii: "\n") { return text.index(after: line.startIndex) }
    }
    return nil
  }

  /// Returns the start of the line end before the first delimiter.
  private static func delimiter(in text: Substring.UTF8View) -> String.Index? {
    var rest = text
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      rest = rest[text.index(after: end)...]
      guard rest.starts(with: "--".utf8) else { continue }
      let hasReturn = text[..<end].last == UInt8(ascii: "\r")
      return hasReturn ? text.index(before: end) : end
    }
    return nil
  }
}
