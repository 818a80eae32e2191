// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Masking of XML bodies, in which a secret is the content of an element with a secret name.
enum HARXML {
  /// Returns the text with the contents of secret elements masked, including those of the elements within them; `nil` if
  /// the text does not begin as XML.
  ///
  /// The name `Key` is not secret here: S3 gives it to the names of objects.
  static func masked(_ text: String, by redaction: Redaction) -> String? {
    guard text.first(where: { !$0.isWhitespace }) == "<" else { return nil }
    var result = ""
    var rest = text.utf8[...]
    /// The number of open elements within a secret one, including it.
    var depth = 0
    func copyText(_ text: Substring.UTF8View) {
      let isSecret = depth > 0 && text.contains { !" \t\r\n".utf8.contains($0) }
      result += isSecret ? Redaction.mask : String(Substring(text))
    }
    while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
      copyText(rest[..<start])
      rest = rest[start...]
      let isCharacters = rest.starts(with: "<![CDATA[".utf8)
      let end =
        isCharacters
        ? Substring(rest).firstRange(of: "]]>")?.upperBound
        : rest.firstIndex(of: UInt8(ascii: ">")).map { rest.index(after: $0) }
      let tag = rest[..<(end ?? rest.endIndex)]
      rest = rest[tag.endIndex...]
      if isCharacters || tag.starts(with: "<!".utf8) || tag.starts(with: "<?".utf8) {
        copyText(tag)
        continue
      }
      result += String(Substring(tag))
      if tag.starts(with: "</".utf8) {
        depth = max(0, depth - 1)
      } else if tag.dropLast().last != UInt8(ascii: "/") {
        let name = tag.dropFirst().prefix { !" \t\r\n/>".utf8.contains($0) }.split(separator: UInt8(ascii: ":")).last
        if depth > 0 || name.map({ isSecret(String(Substring($0)), redaction) }) ?? false { depth += 1 }
      }
    }
    copyText(rest)
    return result
  }

  private static func isSecret(_ name: String, _ redaction: Redaction) -> Bool {
    name != "Key" && redaction.isSecret(name: name)
  }
}
