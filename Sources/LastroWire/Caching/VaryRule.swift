// SPDX-License-Identifier: Apache-2.0

/// Which fields of the request an answer was chosen by (RFC 9110 §12.5.5, RFC 9111 §4.1).
package struct VaryRule: Sendable, Hashable {
  /// More than any server has; an answer that names more is not kept.
  package static let maximumNames = 32

  /// In lower case, each once, sorted.
  package let names: [String]
  /// Whether no request is known to get the answer again: `*`, or more names than are looked at.
  package let matchesNone: Bool

  package init(_ fields: CacheFields) {
    let members = Set(fields.members("vary").map { $0.lowercased() })
    matchesNone = members.contains("*") || members.count > Self.maximumNames
    names = matchesNone ? [] : members.sorted()
  }

  /// What a request has in these fields, so that requests that are to get the same answer have equal texts. It may hold
  /// credentials: what is kept is a digest of it.
  package func selection(from request: CacheFields) -> String {
    var text = ""
    for name in names {
      let values = request.values(name)
      // A field that is absent is not one that is empty.
      guard !values.isEmpty else {
        text += "\(name)\n"
        continue
      }
      text += "\(name):\(Self.normalized(values, of: name))\n"
    }
    return text
  }

  private static func normalized(_ values: [String], of name: String) -> String {
    let members = values.flatMap(FieldSyntax.elements)
    guard ["accept", "accept-language", "accept-encoding"].contains(name) else { return members.joined(separator: ",") }
    let lowercased = members.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
    // Members of equal weight say the same in any order; with weights the order stays.
    return (lowercased.contains { $0.contains(";") } ? lowercased : lowercased.sorted()).joined(separator: ",")
  }
}
