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
    let rest = text.unicodeScalars[name.endIndex...]
    guard let start = first(["\r\n\r\n", "\n\n"], of: rest)?.upperBound else { return name.endIndex..<text.endIndex }
    return start..<(first(["\r\n--", "\n--"], of: rest[start...])?.lowerBound ?? text.endIndex)
  }

  /// Where the earliest of some texts is.
  private static func first(
    _ texts: [String], of scalars: Substring.UnicodeScalarView
  ) -> Range<String.Index>? {
    texts.compactMap { scalars.firstRange(of: $0.unicodeScalars) }.min { $0.lowerBound < $1.lowerBound }
  }
}
