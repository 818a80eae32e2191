// SPDX-License-Identifier: Apache-2.0

/// Parses `1#challenge` (RFC 9110 §11.6.1), where commas separate challenges as well as parameters.
package struct ChallengeParser {
  /// The default limit of a field value in bytes. Longer values are ignored.
  package static let limit = 16 * 1024

  private struct Malformed: Error {}

  private var scanner: FieldScanner

  init(_ text: String, limit: Int = ChallengeParser.limit) {
    scanner = FieldScanner(text.utf8.count <= limit ? text : "")
  }

  /// Returns the challenges that precede the first violation of the grammar.
  mutating func challenges() -> [AuthenticationChallenge] {
    var complete: [AuthenticationChallenge] = []
    var current: AuthenticationChallenge?
    do throws(Malformed) {
      while let name = try nextName() {
        let hasBlanks = scanner.passBlanks()
        if scanner.peek == UInt8(ascii: "="), current != nil, current?.token68 == nil {
          current?.parameters.append(.init(name: name.lowercased(), value: try parameterValue()))
          try endOfItem()
        } else {
          if let current { complete.append(current) }
          current = nil
          current = try challenge(scheme: name, hasBlanks: hasBlanks)
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

  /// Returns the next token after commas and blanks; `nil` at the end.
  private mutating func nextName() throws(Malformed) -> String? {
    repeat { scanner.passBlanks() } while scanner.pass(",")
    return scanner.isAtEnd ? nil : try token()
  }

  /// Parses the rest of a challenge after its scheme: nothing, a token68, or the first parameter.
  private mutating func challenge(scheme: String, hasBlanks: Bool) throws(Malformed) -> AuthenticationChallenge {
    var result = AuthenticationChallenge(scheme: scheme.lowercased())
    if isAtEndOfItem { return result }
    guard hasBlanks else { throw Malformed() }
    let start = scanner
    let text = scanner.text(while: Self.isToken68) + scanner.text { $0 == UInt8(ascii: "=") }
    scanner.passBlanks()
    if !text.isEmpty, isAtEndOfItem {
      result.token68 = text
      return result
    }
    scanner = start
    let name = try token().lowercased()
    scanner.passBlanks()
    result.parameters = [.init(name: name, value: try parameterValue())]
    try endOfItem()
    return result
  }

  /// Parses `= token` or `= "quoted"`, with optional blanks.
  private mutating func parameterValue() throws(Malformed) -> String {
    guard scanner.pass("=") else { throw Malformed() }
    scanner.passBlanks()
    guard let value = scanner.tokenOrQuoted() else { throw Malformed() }
    return value
  }

  private var isAtEndOfItem: Bool { scanner.isAtEnd || scanner.peek == UInt8(ascii: ",") }

  private mutating func endOfItem() throws(Malformed) {
    scanner.passBlanks()
    guard isAtEndOfItem else { throw Malformed() }
  }

  private mutating func token() throws(Malformed) -> String {
    guard let token = scanner.token() else { throw Malformed() }
    return token
  }
}
