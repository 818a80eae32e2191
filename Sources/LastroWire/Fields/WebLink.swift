// SPDX-License-Identifier: Apache-2.0

/// A link of a `Link` field (RFC 8288 §3).
package struct WebLink: Equatable, Sendable {
  /// Most bytes of a field that are read; what follows is left out.
  private static let limit = 64 * 1024

  /// As written: a reference to be resolved.
  package var target: String
  /// Relation types in lower case: those of the first `rel`.
  package var relations: [String]
  /// What the link is of, where that is not the page itself.
  package var anchor: String?
  package var parameters: [FieldParameter]

  /// The links of all lines of the field, each up to where it ceases to be one (appendix B.2).
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
    relations = (parameters["rel"] ?? "").split(separator: " ").map { $0.lowercased() }
    anchor = parameters["anchor"]
  }
}
