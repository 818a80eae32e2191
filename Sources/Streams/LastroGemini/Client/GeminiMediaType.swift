// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A media type with its parameters (RFC 2045 §5.1), parsed leniently.
package struct GeminiMediaType: Sendable {
  /// The type and subtype in lower case, such as `text/gemini`.
  package var essence: String
  /// The parameters, by name in lower case; the first one of a repeated name.
  package var parameters: [String: String] = [:]

  /// Parses a media type. An empty text is `text/gemini`.
  package init(_ text: String) {
    var parts = Self.split(text)[...]
    essence = String((parts.popFirst() ?? "")[...].withoutBlanks).lowercased()
    for part in parts {
      guard let equals = part.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = part[..<equals].withoutBlanks.lowercased()
      var value = String(part[part.utf8.index(after: equals)...].withoutBlanks)
      if value.utf8.count > 1, value.utf8.first == UInt8(ascii: "\""), value.utf8.last == UInt8(ascii: "\"") {
        value = String(value.dropFirst().dropLast())
      }
      if parameters[name] == nil { parameters[name] = value }
    }
    if essence.isEmpty { essence = "text/gemini" }
  }

  /// The character set of a text in lower case; `utf-8` if none is given.
  package var charset: String { parameters["charset"]?.lowercased() ?? "utf-8" }

  /// Splits a text at the semicolons outside quotes.
  private static func split(_ text: String) -> [String] {
    var parts = [""]
    var isQuoted = false
    for scalar in text.unicodeScalars {
      if scalar == "\"" { isQuoted.toggle() }
      if scalar == ";", !isQuoted {
        parts.append("")
      } else {
        parts[parts.count - 1].unicodeScalars.append(scalar)
      }
    }
    return parts
  }
}
