// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import Lastro
internal import LastroWire

/// Masking of JSON bodies, which remain JSON.
///
/// The names are those of `Redaction`. In contrast to its masks in logs, a mask is always a string, and a value that is
/// not a secret keeps its type: booleans, `null`, and counts such as `total_tokens`, unless the name is a complete
/// secret name.
struct HARJSON {
  /// The nesting at which a text is no longer treated as JSON.
  private static let maximumDepth = 256

  private enum Kind {
    case text, literal, number, array
    /// An object. The value says whether all of its members are counts.
    case object(isCounts: Bool)
  }

  private let bytes: [UInt8]
  private let redaction: Redaction
  private var index = 0
  private var result: [UInt8] = []

  private init(_ text: String, _ redaction: Redaction) {
    bytes = Array(text.utf8)
    self.redaction = redaction
    result.reserveCapacity(bytes.count)
  }

  /// Returns the text with its secrets masked; `nil` if it is not JSON.
  static func masked(_ text: String, by redaction: Redaction) -> String? {
    var masker = HARJSON(text, redaction)
    guard masker.copyValue(depth: 0) != nil, masker.index == masker.bytes.count else { return nil }
    // A secret may extend over several values.
    return redaction.secretsMasked(in: String(decoding: masker.result, as: UTF8.self))
  }

  /// Returns the text with its secrets masked, if each line is JSON, or the field of an event whose data is JSON or ends
  /// a chat (`[DONE]`); else `nil`.
  static func maskedLines(_ text: String, by redaction: Redaction) -> String? {
    var result: [String] = []
    for line in text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let isField = ["data:", "event:", "id:", "retry:", ":"].contains { line.starts(with: $0.utf8) }
      let mark = isField ? line.firstIndex(of: UInt8(ascii: ":")).map { line.index(after: $0) } : nil
      let value = String(Substring(line[(mark ?? line.startIndex)...]))
      let rest = value.utf8.filter { !isBlank($0) }
      if rest.isEmpty || rest.elementsEqual("[DONE]".utf8) || isField && !line.starts(with: "data:".utf8) {
        result.append(redaction.text(String(Substring(line))))
      } else if let masked = masked(value, by: redaction) {
        result.append(String(Substring(line[..<(mark ?? line.startIndex)])) + masked)
      } else {
        return nil
      }
    }
    return redaction.secretsMasked(in: result.joined(separator: "\n"))
  }

  /// Copies a value and the blanks around it; returns `nil` if there is none.
  private mutating func copyValue(depth: Int) -> Kind? {
    guard depth < Self.maximumDepth else { return nil }
    copyBlanks()
    guard index < bytes.count else { return nil }
    defer { copyBlanks() }
    switch bytes[index] {
    case UInt8(ascii: "{"): return copyObject(depth: depth)
    case UInt8(ascii: "["): return copyArray(depth: depth)
    case UInt8(ascii: "\""): return copyString() == nil ? nil : .text
    default: return copyPlain()
    }
  }

  private mutating func copyObject(depth: Int) -> Kind? {
    copyByte()
    copyBlanks()
    var isCounts = true
    if copyByte(if: "}") { return .object(isCounts: false) }
    repeat {
      copyBlanks()
      guard let name = copyString() else { return nil }
      copyBlanks()
      guard copyByte(if: ":") else { return nil }
      copyBlanks()
      let start = result.count
      guard let kind = copyValue(depth: depth + 1) else { return nil }
      isCounts = isCounts && Self.isCount(kind) && namesCounts(name)
      if let secret = secretName(name), !isShown(kind, under: secret) {
        result.removeSubrange(start...)
        result += "\"\(Redaction.mask)\"".utf8
      }
    } while copyByte(if: ",")
    return copyByte(if: "}") ? .object(isCounts: isCounts) : nil
  }

  private mutating func copyArray(depth: Int) -> Kind? {
    copyByte()
    copyBlanks()
    if copyByte(if: "]") { return .array }
    repeat {
      guard copyValue(depth: depth + 1) != nil else { return nil }
    } while copyByte(if: ",")
    return copyByte(if: "]") ? .array : nil
  }

  /// Copies a string with its secrets masked, and returns the original.
  private mutating func copyString() -> String? {
    guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else { return nil }
    var end = index + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") { end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1 }
    guard end < bytes.count else { return nil }
    let written = bytes[index...end]
    index = end + 1
    let content = written.dropFirst().dropLast()
    guard !content.contains(where: { $0 < 0x20 }) else { return nil }
    let isPlain = !content.contains(UInt8(ascii: "\\"))
    let text =
      isPlain
      ? String(decoding: content, as: UTF8.self) : try? JSONDecoder().decode(String.self, from: Data(written))
    guard let text else { return nil }
    let masked = redaction.text(text)
    if masked == text { result += written } else { result += masked.json }
    return text
  }

  /// Copies a number, a boolean or `null`.
  private mutating func copyPlain() -> Kind? {
    let token = bytes[index...].prefix {
      SecretScanner.isWordByte($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "+")
    }
    index = token.endIndex
    let text = String(decoding: token, as: UTF8.self)
    let isLiteral = ["true", "false", "null"].contains(text)
    guard isLiteral || Double(text) != nil else { return nil }
    let masked = redaction.secretsMasked(in: text)
    result += masked == text ? Array(token) : Array("\"\(Redaction.mask)\"".utf8)
    return isLiteral ? .literal : .number
  }

  /// Returns the name, or its last word, if it is secret.
  private func secretName(_ name: String) -> String? {
    if redaction.isSecret(name: name) { return name }
    let word = name.utf8.split { !SecretScanner.isWordByte($0) }.last.map(Substring.init).map(String.init)
    return word.flatMap { redaction.isSecret(name: $0) ? $0 : nil }
  }

  private func isShown(_ kind: Kind, under name: String) -> Bool {
    guard !redaction.names.contains(Redaction.normalized(name)) else { return false }
    return switch kind {
    case .literal: true
    case .number: namesCounts(name)
    case .object(let isCounts): isCounts && namesCounts(name)
    case .text, .array: false
    }
  }

  private static func isCount(_ kind: Kind) -> Bool {
    switch kind {
    case .number, .literal, .object(isCounts: true): true
    default: false
    }
  }

  /// Returns whether numbers under a name are counts, because it contains words of secret names as plurals only.
  private func namesCounts(_ name: String) -> Bool {
    let name = Redaction.normalized(name)
    let words = redaction.words.filter { name.contains($0) }
    return !words.isEmpty && words.allSatisfy { name.contains($0 + "s") }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  private mutating func copyBlanks() {
    while index < bytes.count, Self.isBlank(bytes[index]) { copyByte() }
  }

  private mutating func copyByte(if character: Unicode.Scalar) -> Bool {
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    copyByte()
    return true
  }

  private mutating func copyByte() {
    result.append(bytes[index])
    index += 1
  }
}

extension String {
  /// The string as JSON.
  fileprivate var json: [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return (try? encoder.encode(self)).map(Array.init) ?? Array("\"\(Redaction.mask)\"".utf8)
  }
}
