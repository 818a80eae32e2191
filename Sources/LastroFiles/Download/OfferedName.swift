// SPDX-License-Identifier: Apache-2.0

/// The file name that `Content-Disposition` offers (RFC 6266), as it may be used: never a path.
enum OfferedName {
  /// Most bytes of a name, which file systems take.
  static let maximumBytes = 255

  /// The cleaned name; `nil` where there is none, or nothing of it is left.
  static func read(_ field: String) -> String? {
    let parameters = parameters(of: field)
    // RFC 6266 §4.3: the extended form goes before the other.
    let name = parameters["filename*"].flatMap(extended) ?? parameters["filename"]
    return name.flatMap(cleaned)
  }

  /// The last part of the path that it may be; without what a shell or a file system would misread.
  static func cleaned(_ name: String) -> String? {
    // By scalars: a joiner or a combining mark behind a slash makes another `Character` of it, and no other slash.
    let last = name.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last.map(Array.init) ?? []
    let kept = last.filter { scalar in
      switch scalar.properties.generalCategory {
      // Format characters turn the reading around: what looks like `.txt` may be `.exe`.
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

  /// Names in lower case; the first of each counts.
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

  /// `UTF-8'language'percent-encoded` (RFC 8187 §3.2); `nil` for another character set, and for what is not UTF-8.
  private static func extended(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].lowercased() == "utf-8" else { return nil }
    var bytes: [UInt8] = []
    var rest = Array(parts[2].utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(decoded)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
