// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The beginning of a body as it may stand in an error: bounded, with the values of secret-looking fields masked.
public struct BodySnippet: Sendable, Hashable, CustomStringConvertible {
  /// The text; `<n bytes, not text>` for a body that is not UTF-8.
  public let text: String
  /// Number of bytes of the whole body.
  public let byteCount: Int

  /// `text`, and how much was left out.
  public var description: String { text }

  init(_ body: some Collection<UInt8>, limit: Int) {
    byteCount = body.count
    var head = Array(body.prefix(max(0, limit)))
    let isCut = head.count < body.count
    // A cut in the middle of a character must not make text look binary.
    if isCut, let lead = head.lastIndex(where: { $0 & 0xC0 != 0x80 }), head[lead] >= 0xC0,
      head.count - lead < (head[lead] >= 0xF0 ? 4 : head[lead] >= 0xE0 ? 3 : 2)
    {
      head.removeSubrange(lead...)
    }
    guard let decoded = String(validating: head, as: UTF8.self), !decoded.utf8.contains(0) else {
      text = "<\(body.count) bytes, not text>"
      return
    }
    text = Self.masked(decoded) + (isCut ? "… (\(body.count) bytes)" : "")
  }

  private static let secretWords = [
    "token", "secret", "passw", "pwd", "apikey", "api_key", "api-key", "authorization", "credential", "session",
    "cookie",
    "signature", "private", "assertion", "bearer",
  ]

  /// Masks the value after every key, in JSON, form or header notation, whose name contains a secret-looking word.
  static func masked(_ text: String) -> String {
    var result = ""
    var rest = text[...]
    while let word = rest.firstIndex(where: isWordCharacter) {
      result += rest[..<word]
      rest = rest[word...]
      let name = rest.prefix(while: isWordCharacter)
      result += name
      rest = rest[name.endIndex...]
      let lowered = name.lowercased()
      guard secretWords.contains(where: lowered.contains) else { continue }
      let separator = rest.prefix { " \t\n\"':=\\".contains($0) }
      let isAssignment = separator.contains { $0 == ":" || $0 == "=" }
      let isScheme = lowered == "bearer" && !separator.isEmpty && separator.allSatisfy { $0 == " " }
      guard isAssignment || isScheme else { continue }
      let value = value(in: rest[separator.endIndex...], isQuoted: separator.last == "\"")
      guard !value.isEmpty else { continue }
      result += separator
      result += "***"
      rest = rest[value.endIndex...]
    }
    return result + rest
  }

  /// The value at the beginning of a text; empty for an object, whose own keys are looked at.
  private static func value(in text: Substring, isQuoted: Bool) -> Substring {
    if text.hasPrefix("[") { return text[...(text.firstIndex(of: "]") ?? text.index(before: text.endIndex))] }
    guard isQuoted else { return text.hasPrefix("{") ? text.prefix(0) : text.prefix { !",;&}]\n".contains($0) } }
    var isEscaped = false
    return text.prefix { character in
      defer { isEscaped = character == "\\" && !isEscaped }
      return character != "\"" || isEscaped
    }
  }

  private static func isWordCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_" || character == "-"
  }
}
