// SPDX-License-Identifier: Apache-2.0

/// The field lines of a head in their order, including repeated ones.
package struct CacheFields: Sendable, Hashable {
  /// A field line: its name as written, and its value.
  package struct Line: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }

    func isNamed(_ name: String) -> Bool { self.name.utf8.count == name.utf8.count && self.name.lowercased() == name }
  }

  package var lines: [Line]

  package init(_ lines: [Line] = []) { self.lines = lines }

  /// Returns the values of all lines with a name. The name is given in lower case.
  package func values(_ name: String) -> [String] { lines.filter { $0.isNamed(name) }.map(\.value) }

  /// Returns the value of the first line with a name.
  package func first(_ name: String) -> String? { lines.first { $0.isNamed(name) }?.value }

  /// Returns whether there is a line with a name.
  package func contains(_ name: String) -> Bool { lines.contains { $0.isNamed(name) } }

  package mutating func remove(_ name: String) { lines.removeAll { $0.isNamed(name) } }

  /// Replaces all lines with a name by a single line, at the position of the first one.
  package mutating func set(_ name: String, _ value: String) {
    let lowercased = name.lowercased()
    let place = lines.firstIndex { $0.isNamed(lowercased) } ?? lines.endIndex
    remove(lowercased)
    lines.insert(Line(name, value), at: min(place, lines.endIndex))
  }

  /// Returns the members of a list in all lines with a name, as written (RFC 9110 §5.6.1).
  package func members(_ name: String) -> [String] { values(name).flatMap(FieldSyntax.elements) }
}
