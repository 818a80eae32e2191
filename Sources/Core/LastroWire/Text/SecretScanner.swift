// SPDX-License-Identifier: Apache-2.0

/// Finds the value that follows a name in JSON, form, query or header notation, also in truncated text.
package struct SecretScanner {
  private let bytes: [UInt8]
  private var index: Int

  package init(_ bytes: [UInt8], after index: Int) {
    self.bytes = bytes
    self.index = index
  }

  /// Returns whether a byte belongs to a name. All bytes outside ASCII do.
  package static func isWordByte(_ byte: UInt8) -> Bool {
    byte &- 48 < 10 || (byte | 0x20) &- 97 < 26 || byte >= 0x80 || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "-")
  }

  /// Returns the range of the value without its quotes; `nil` if the name has no value, or is not secret.
  package mutating func value(of name: String, isSecret: (_ name: String, _ inQuery: Bool) -> Bool) -> Range<Int>? {
    let nameEnd = index
    let isQuoted = skip { Self.isBlank($0) || Self.isQuote($0) || $0 == UInt8(ascii: "\\") }.contains(
      where: Self.isQuote)
    let delimiter = skip { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "=") }
    let isPair = delimiter.contains(UInt8(ascii: "="))
    guard !delimiter.isEmpty else {
      let isScheme = index > nameEnd && !isQuoted && name.lowercased() == "bearer" && isSecret(name, false)
      return isScheme ? plainValue() : nil
    }
    guard isSecret(name, isPair) else { return nil }
    if isPair { skip { $0 == UInt8(ascii: ">") } }
    skip { Self.isBlank($0) || $0 == UInt8(ascii: "\\") }
    guard index < bytes.count else { return nil }
    let first = bytes[index]
    if Self.isQuote(first) { return (index + 1)..<endOfQuoted(from: index) }
    if first == UInt8(ascii: "[") || first == UInt8(ascii: "{") { return index..<endOfBracketed() }
    return !isQuoted && Self.isField(name) ? fieldValue(isPair: isPair) : plainValue()
  }

  /// Returns the value up to a delimiter.
  private func plainValue() -> Range<Int> { upTo(",;&}]\r\n") }

  /// Returns the value of a header field, which may contain any delimiter except the end of the line.
  private func fieldValue(isPair: Bool) -> Range<Int> { upTo(isPair ? "&\r\n" : "\r\n") }

  private func upTo(_ delimiters: StaticString) -> Range<Int> {
    delimiters.withUTF8Buffer { set in
      index..<(bytes[index...].firstIndex(where: set.contains) ?? bytes.count)
    }
  }

  /// Returns the position of the closing quote, or the end of the text if there is none.
  private func endOfQuoted(from start: Int) -> Int {
    var index = start + 1
    while index < bytes.count, bytes[index] != bytes[start] { index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1 }
    return min(index, bytes.count)
  }

  /// Returns the index after the matching closing bracket. Brackets in strings are ignored.
  private func endOfBracketed() -> Int {
    var depth = 0
    var index = index
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      case let byte where Self.isQuote(byte): index = endOfQuoted(from: index)
      default: break
      }
      index += 1
      if depth == 0 { break }
    }
    return min(index, bytes.count)
  }

  @discardableResult
  private mutating func skip(_ isSkipped: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = index
    index = bytes[start...].firstIndex { !isSkipped($0) } ?? bytes.count
    return bytes[start..<index]
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

  /// Returns whether a name is a header field whose value may contain several secrets.
  private static func isField(_ name: String) -> Bool {
    let name = name.lowercased()
    return name.contains("authorization") || name.contains("cookie")
  }
}
