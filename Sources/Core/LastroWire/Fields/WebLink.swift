// SPDX-License-Identifier: Apache-2.0

/// A link of a `Link` field (RFC 8288 §3).
package struct WebLink: Equatable, Sendable {
  /// The maximum length of a line in bytes. A longer line has no links, because a part of it would be a different list.
  private static let limit = 64 * 1024

  /// The target as written: a reference to resolve against the URL of the response.
  package var target: String
  /// The relation types of the first `rel` in lower case (§3.3); empty if there is none.
  package var relations: [String]
  /// The link's context as written (§3.2): a reference, which may be the page's own URL. `nil` means the page.
  package var anchor: String?
  /// All parameters in order, including those above.
  package var parameters: [FieldParameter]

  /// Returns the links of all lines of the field, parsed as in appendix B.2, but more strictly for malformed lines: a
  /// link with an unclosed quote is left out, and so is the text after a blank that follows an unquoted value.
  package static func links(in values: [String]) -> [WebLink] { values.flatMap(links) }

  private static func links(in value: String) -> [WebLink] {
    guard value.utf8.count <= limit else { return [] }
    var scanner = FieldScanner(value)
    var links: [WebLink] = []
    while true {
      repeat { scanner.passBlanks() } while scanner.pass(",")
      guard scanner.pass("<") else { return links }
      let target = scanner.text { $0 != UInt8(ascii: ">") }
      guard scanner.pass(">"), let parameters = scanner.parameters() else { return links }
      links.append(WebLink(target, parameters))
      guard scanner.isAtEnd || scanner.peek == UInt8(ascii: ",") else { return links }
    }
  }

  private init(_ target: String, _ parameters: [FieldParameter]) {
    self.target = target
    self.parameters = parameters
    relations = (parameters["rel"] ?? "").split { $0 == " " || $0 == "\t" }.map { $0.lowercased() }
    anchor = parameters["anchor"]
  }
}
