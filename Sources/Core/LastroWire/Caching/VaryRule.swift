// SPDX-License-Identifier: Apache-2.0

/// The request fields that a response was selected by (RFC 9110 §12.5.5, RFC 9111 §4.1).
package struct VaryRule: Sendable, Hashable {
  /// The maximum number of names. A response with more names, which no real server sends, is not stored.
  package static let maximumNames = 32

  /// The names in lower case, sorted and without duplicates.
  package let names: [String]
  /// Whether no request is known to match: `*`, or more than `maximumNames` names.
  package let matchesNone: Bool

  package init(_ fields: CacheFields) {
    let members = Set(fields.members("vary").map { $0.lowercased() })
    matchesNone = members.contains("*") || members.count > Self.maximumNames
    names = matchesNone ? [] : members.sorted()
  }

  /// Returns the values of these fields in a request. Requests that match the same response have equal texts. The text
  /// may contain credentials; only a digest of it is stored.
  package func selection(from request: CacheFields) -> String {
    var text = ""
    for name in names {
      let values = request.values(name)
      // An absent field differs from an empty one.
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
    // Without weights, the order of members does not matter; with weights, keep the order.
    return (lowercased.contains { $0.contains(";") } ? lowercased : lowercased.sorted()).joined(separator: ",")
  }
}
