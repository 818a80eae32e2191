// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Bodies of `multipart/form-data` (RFC 7578), whose secrets stand on lines below their names.
enum HARForm {
  /// A body with its secrets masked: those that `Redaction.text(_:)` sees, and parts with secret names.
  ///
  /// - Parameter isCut: whether the text goes on where it ends.
  static func masked(_ text: String, by redaction: Redaction, isCut: Bool = false) -> String {
    guard text.utf8.contains(UInt8(ascii: "\n")), text.contains("name=\""),
      text.lowercased().contains("content-disposition")
    else { return redaction.text(text, isCut: isCut) }
    // By scalars: CR LF makes one `Character`.
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

  /// What stands in a part with a secret name; an empty range where the name is not secret. All the rest where no end
  /// of its head can be found: the part may have been cut off, or written by other rules.
  private static func value(
    after start: String.Index, of text: Substring, _ redaction: Redaction
  ) -> Range<String.Index> {
    let name = text[start...].prefix { $0 != "\"" && !$0.isNewline }
    guard redaction.isSecret(name: String(name), inQuery: true) else { return name.endIndex..<name.endIndex }
    let rest = text.utf8[name.endIndex...]
    guard let start = endOfBlankLine(in: rest) else { return name.endIndex..<text.endIndex }
    return start..<(delimiter(in: rest[start...]) ?? text.endIndex)
  }

  // Both look for a line's end and then at what stands there: a search for each way of writing it would look for the
  // way that a peer does not use up to the end of the text, for every part again.

  /// Where the first blank line ends, whether lines end in LF or CRLF.
  private static func endOfBlankLine(in text: Substring.UTF8View) -> String.Index? {
    var rest = text
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      rest = rest[text.index(after: end)...]
      let line = rest.first == UInt8(ascii: "\r") ? rest.dropFirst() : rest
      if line.first == UInt8(ascii: "\n") { return text.index(after: line.startIndex) }
    }
    return nil
  }

  /// Where the end of the line begins behind which the first delimiter stands.
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
