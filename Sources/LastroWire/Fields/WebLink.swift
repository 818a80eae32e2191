// SPDX-License-Identifier: Apache-2.0

/// A link of a `Link` field (RFC 8288 §3).
package struct WebLink: Equatable, Sendable {
  /// Most bytes of a line; a longer one has no links, for half of it would be another list.
  private static let limit = 64 * 1024

  /// As written: a reference to be resolved against the URL that answered.
  package var target: String
  /// Relation types in lower case: those of the first `rel` (§3.3); empty where there is none.
  package var relations: [String]
  /// What the link is of, as written, where it says so (§3.2): a reference, which may be the page's own. `nil`: the
  /// page.
  package var anchor: String?
  /// All, in order, those above among them.
  package var parameters: [FieldParameter]

  /// The links of all lines of the field, read as appendix B.2 has it, but more strictly where a line is broken: a link
  /// whose quotes are not closed is left out, and so is what follows on a blank behind a value without quotes.
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
