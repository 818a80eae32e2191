// SPDX-License-Identifier: Apache-2.0

/// Scans a field value from left to right: words, quoted strings and parameters (RFC 9110 §5.6).
struct FieldScanner {
  private static let quote = UInt8(ascii: "\"")
  private static let backslash = UInt8(ascii: "\\")

  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  var isAtEnd: Bool { index == bytes.count }

  var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

  /// Skips blanks. Returns whether there were any.
  @discardableResult
  mutating func passBlanks() -> Bool { !text(while: \.isSpace).isEmpty }

  /// Skips a byte if it is the next one. Returns whether it was.
  mutating func pass(_ character: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  mutating func text(while isPart: (UInt8) -> Bool) -> String {
    let start = index
    while let byte = peek, isPart(byte) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  /// Returns the token at the current position; `nil` if there is none.
  mutating func token() -> String? {
    let token = text(while: FieldSyntax.isToken)
    return token.isEmpty ? nil : token
  }

  /// Returns the token at the current position, or the content of the quoted string.
  mutating func tokenOrQuoted() -> String? { peek == Self.quote ? quoted(escapes: true) : token() }

  /// Returns the quoted string at the current position; `nil` if there is none or it is not closed.
  ///
  /// - Parameter escapes: whether a backslash escapes the next byte (§5.6.4). Browsers write backslashes literally.
  mutating func quoted(escapes: Bool) -> String? {
    guard pass("\"") else { return nil }
    var text: [UInt8] = []
    while let byte = peek {
      index += 1
      if byte == Self.quote { return String(decoding: text, as: UTF8.self) }
      guard byte == Self.backslash, escapes, let escaped = peek else {
        text.append(byte)
        continue
      }
      index += 1
      text.append(escaped)
    }
    return nil
  }

  /// Parses repeated `; name=value` with optional blanks, with names in lower case. It stops before any other text.
  /// Returns `nil` if a quoted value is not closed.
  mutating func parameters(escapes: Bool = true) -> [FieldParameter]? {
    var parameters: [FieldParameter] = []
    while true {
      passBlanks()
      guard pass(";") else { return parameters }
      passBlanks()
      let name = text { !$0.isSpace && !"=;,".utf8.contains($0) }.lowercased()
      passBlanks()
      var value = ""
      if pass("=") {
        passBlanks()
        if peek == Self.quote {
          guard let quoted = quoted(escapes: escapes) else { return nil }
          value = quoted
        } else {
          value = text { !$0.isSpace && !";,".utf8.contains($0) }
        }
      }
      if !name.isEmpty { parameters.append(FieldParameter(name: name, value: value)) }
    }
  }
}

/// A parameter of a field value, with its name in lower case and its value unquoted.
package struct FieldParameter: Hashable, Sendable {
  package var name: String
  package var value: String

  package init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}

extension [FieldParameter] {
  /// Returns the value of the first parameter with the name.
  package subscript(name: String) -> String? { first { $0.name == name }?.value }
}
