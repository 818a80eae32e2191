// SPDX-License-Identifier: Apache-2.0

/// The field lines of a head, in their order, with repeated ones.
package struct CacheFields: Sendable, Hashable {
  /// A line: a name as it was written, and its value.
  package struct Line: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

    func isNamed(_ name: String) -> Bool { self.name.utf8.count == name.utf8.count && self.name.lowercased() == name }
  }

  package var lines: [Line]

  package init(_ lines: [Line] = []) { self.lines = lines }

  /// The values of all lines of a name, which is given in lower case.
  package func values(_ name: String) -> [String] { lines.filter { $0.isNamed(name) }.map(\.value) }

  /// The value of the first line of a name.
  package func first(_ name: String) -> String? { lines.first { $0.isNamed(name) }?.value }

  /// Whether there is a line of a name.
  package func contains(_ name: String) -> Bool { lines.contains { $0.isNamed(name) } }

  package mutating func remove(_ name: String) { lines.removeAll { $0.isNamed(name) } }

  /// One line in place of all of its name, where the first of them stood.
  package mutating func set(_ name: String, _ value: String) {
    let lowercased = name.lowercased()
    let place = lines.firstIndex { $0.isNamed(lowercased) } ?? lines.endIndex
    remove(lowercased)
    lines.insert(Line(name, value), at: min(place, lines.endIndex))
  }

  /// The members of a list in all lines of a name (RFC 9110 §5.6.1), as they are written.
  package func members(_ name: String) -> [String] { values(name).flatMap(FieldSyntax.elements) }
}
