// SPDX-License-Identifier: Apache-2.0

/// An element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1).
package struct WebSocketExtension: Sendable {
  /// The name, unchanged: names are compared case-sensitively.
  package var name: String
  /// The parameters with unquoted values; a value is `nil` if it is absent.
  package var parameters: [(name: String, value: String?)]

  package init(name: String, parameters: [(name: String, value: String?)] = []) {
    self.name = name
    self.parameters = parameters
  }

  /// Parses a list; `nil` if it violates the grammar. A quoted value must be a token without its quotes.
  package static func list(_ text: String) -> [WebSocketExtension]? {
    var scanner = FieldScanner(text)
    var result: [WebSocketExtension] = []
    while true {
      // Empty elements are allowed (RFC 9110 §5.6.1.2).
      repeat { scanner.passBlanks() } while scanner.pass(",")
      if scanner.isAtEnd { return result }
      guard let element = element(&scanner) else { return nil }
      result.append(element)
      guard scanner.isAtEnd || scanner.pass(",") else { return nil }
    }
  }

  /// Parses an element, and the blanks after it.
  private static func element(_ scanner: inout FieldScanner) -> WebSocketExtension? {
    guard let name = scanner.token() else { return nil }
    var element = WebSocketExtension(name: name)
    while true {
      scanner.passBlanks()
      guard scanner.pass(";") else { return element }
      scanner.passBlanks()
      guard let name = scanner.token() else { return nil }
      scanner.passBlanks()
      guard scanner.pass("=") else {
        element.parameters.append((name, nil))
        continue
      }
      scanner.passBlanks()
      guard let value = scanner.tokenOrQuoted(), !value.isEmpty, value.utf8.allSatisfy(FieldSyntax.isToken) else {
        return nil
      }
      element.parameters.append((name, value))
    }
  }
}
