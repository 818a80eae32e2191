// SPDX-License-Identifier: Apache-2.0

/// Parses `1#challenge` (RFC 9110 §11.6.1), where commas separate challenges as well as parameters.
package struct ChallengeParser {
  /// The default limit of a field value in bytes. Longer values are ignored.
  package static let limit = 16 * 1024

  private struct Malformed: Error {}

  private let bytes: [UInt8]
  private var index = 0

  init(_ text: String, limit: Int = ChallengeParser.limit) {
    bytes = text.utf8.count <= limit ? Array(text.utf8) : []
  }

  /// Returns the challenges that precede the first violation of the grammar.
  mutating func challenges() -> [AuthenticationChallenge] {
    var complete: [AuthenticationChallenge] = []
    var current: AuthenticationChallenge?
    do throws(Malformed) {
      while let name = try nextName() {
        let blanks = skipBlanks()
        if peek == UInt8(ascii: "="), current != nil, current?.token68 == nil {
          current?.parameters.append(.init(name: name.lowercased(), value: try parameterValue()))
          try endOfItem()
        } else {
          if let current { complete.append(current) }
          current = nil
          current = try challenge(scheme: name, hasBlanks: blanks > 0)
        }
      }
      if let current { complete.append(current) }
    } catch {}
    return complete
  }

  /// Returns whether a byte is a letter, a digit or one of `-._~+/` (RFC 9110 §11.2).
  private static func isToken68(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-")...UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "a")...UInt8(ascii: "z"): true
    default: false
    }
  }

  private var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

  /// Returns the next token after commas and blanks; `nil` at the end.
  private mutating func nextName() throws(Malformed) -> String? {
    skip { $0.isSpace || $0 == UInt8(ascii: ",") }
    return peek == nil ? nil : try token()
  }

  /// Parses the rest of a challenge after its scheme: nothing, a token68, or the first parameter.
  private mutating func challenge(scheme: String, hasBlanks: Bool) throws(Malformed) -> AuthenticationChallenge {
    var result = AuthenticationChallenge(scheme: scheme.lowercased())
    guard let next = peek, next != UInt8(ascii: ",") else { return result }
    guard hasBlanks else { throw Malformed() }
    let start = index
    let text = skip(Self.isToken68) + skip { $0 == UInt8(ascii: "=") }
    skipBlanks()
    if !text.isEmpty, peek == nil || peek == UInt8(ascii: ",") {
      result.token68 = text
      return result
    }
    index = start
    let name = try token().lowercased()
    skipBlanks()
    result.parameters = [.init(name: name, value: try parameterValue())]
    try endOfItem()
    return result
  }

  /// Parses `= token` or `= "quoted"`, with optional blanks.
  private mutating func parameterValue() throws(Malformed) -> String {
    guard peek == UInt8(ascii: "=") else { throw Malformed() }
    index += 1
    skipBlanks()
    return peek == UInt8(ascii: "\"") ? try quoted() : try token()
  }

  private mutating func endOfItem() throws(Malformed) {
    skipBlanks()
    guard peek == nil || peek == UInt8(ascii: ",") else { throw Malformed() }
  }

  private mutating func token() throws(Malformed) -> String {
    let text = skip(FieldSyntax.isToken)
    guard !text.isEmpty else { throw Malformed() }
    return text
  }

  private mutating func quoted() throws(Malformed) -> String {
    index += 1
    var text: [UInt8] = []
    while let byte = peek {
      index += 1
      switch byte {
      case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let escaped = peek else { throw Malformed() }
        index += 1
        text.append(escaped)
      default: text.append(byte)
      }
    }
    throw Malformed()
  }

  @discardableResult
  private mutating func skipBlanks() -> Int { skip(\.isSpace).utf8.count }

  @discardableResult
  private mutating func skip(_ isSkipped: (UInt8) -> Bool) -> String {
    let start = index
    while let byte = peek, isSkipped(byte) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }
}
