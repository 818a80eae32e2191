// SPDX-License-Identifier: Apache-2.0

/// Bodies of `multipart/form-data` (RFC 7578), whose secrets stand on lines below their names.
enum HARForm {
  /// A body with its secrets masked: those that ``Redaction/text(_:)`` sees, and parts with secret names.
  static func masked(_ text: String, by redaction: Redaction) -> String {
    guard text.utf8.contains(UInt8(ascii: "\n")), text.contains("name=\"") else { return redaction.text(text) }
    // By scalars: CR LF makes one `Character`.
    var result = ""
    var rest = Substring(text)
    while let name = rest.firstRange(of: "name=\""), let end = value(after: name.upperBound, of: rest, redaction) {
      result += rest[..<end.lowerBound]
      if !end.isEmpty { result += Redaction.mask }
      rest = rest[end.upperBound...]
    }
    return redaction.text(result + rest)
  }

  /// What stands in a part with a secret name; an empty range where the name is none.
  private static func value(
    after start: String.Index, of text: Substring, _ redaction: Redaction
  ) -> Range<String.Index>? {
    let name = text[start...].prefix { $0 != "\"" && !$0.isNewline }
    guard redaction.isSecret(name: String(name), inQuery: true) else { return name.endIndex..<name.endIndex }
    let scalars = text.unicodeScalars
    guard let head = scalars[name.endIndex...].firstRange(of: "\r\n\r\n".unicodeScalars) else { return nil }
    let end = scalars[head.upperBound...].firstRange(of: "\r\n--".unicodeScalars)?.lowerBound ?? text.endIndex
    return head.upperBound..<end
  }
}
