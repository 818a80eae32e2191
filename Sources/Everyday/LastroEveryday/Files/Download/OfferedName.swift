// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The file name that `Content-Disposition` offers (RFC 6266), made safe to use: it is never a path.
package enum OfferedName {
  /// The maximum length of a name in bytes, which common file systems accept.
  static let maximumBytes = 255

  /// Returns the cleaned name; `nil` if there is none, or nothing is left of it.
  package static func read(_ field: String) -> String? {
    let parameters = parameters(of: field)
    // The extended form takes precedence (RFC 6266 §4.3).
    let name = parameters["filename*"].flatMap(extended) ?? parameters["filename"]
    return name.flatMap(cleaned)
  }

  /// Returns the last component of a name that may be a path, without colons, control and format characters, and
  /// without dots and spaces at either end. The name is cut to ``maximumBytes``. Returns `nil` if nothing is left.
  static func cleaned(_ name: String) -> String? {
    // Compare scalars: a joiner or a combining mark after a slash forms another `Character`, which does not equal a
    // slash.
    let last = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last.map(Array.init) ?? []
    let kept = last.filter { scalar in
      switch scalar.properties.generalCategory {
      // Format characters can reverse the display: a name that appears to end in `.txt` may end in `.exe`.
      case .control, .format, .surrogate, .lineSeparator, .paragraphSeparator: false
      default: scalar != ":"
      }
    }
    var text = ""
    var bytes = 0
    for character in String(String.UnicodeScalarView(kept.drop { $0 == "." || $0 == " " })) {
      bytes += character.utf8.count
      guard bytes <= maximumBytes else { break }
      text.append(character)
    }
    while let end = text.last, end == "." || end == " " { text.removeLast() }
    return text.isEmpty ? nil : text
  }

  /// Returns the parameters by lower-case name; the first of each name counts.
  private static func parameters(of field: String) -> [String: String] {
    var rest = field[...].drop { $0 != ";" }
    var found: [String: String] = [:]
    while rest.popFirst() != nil {
      rest = rest.drop { $0 == " " || $0 == "\t" }
      let name = rest.prefix { $0 != "=" && $0 != ";" }
      rest = rest.dropFirst(name.count)
      guard rest.first == "=" else { continue }
      rest = rest.dropFirst()
      let value = rest.first == "\"" ? quoted(&rest) : String(rest.prefix { $0 != ";" })
      rest = rest.drop { $0 != ";" }
      let key = name.lowercased().filter { $0 != " " }
      if found[key] == nil { found[key] = value }
    }
    return found
  }

  private static func quoted(_ rest: inout Substring) -> String {
    rest = rest.dropFirst()
    var text = ""
    while let next = rest.popFirst(), next != "\"" {
      if next == "\\", let escaped = rest.popFirst() { text.append(escaped) } else { text.append(next) }
    }
    return text
  }

  /// Decodes `UTF-8'language'percent-encoded` (RFC 8187 §3.2). Returns `nil` for another character set, for a
  /// `%` without two hexadecimal digits, and for invalid UTF-8.
  private static func extended(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
    return parts[2].percentDecodedBytes.flatMap { String(validating: $0, as: UTF8.self) }
  }
}
