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
    var scanner = Scanner(bytes: Array(text.utf8))
    var result: [WebSocketExtension] = []
    while true {
      scanner.skipBlanks()
      // Empty elements are allowed (RFC 9110 §5.6.1.2).
      if scanner.take(0x2C) { continue }
      if scanner.isAtEnd { return result }
      guard let element = scanner.element() else { return nil }
      result.append(element)
      scanner.skipBlanks()
      guard scanner.isAtEnd || scanner.take(0x2C) else { return nil }
    }
  }

  private struct Scanner {
    let bytes: [UInt8]
    var index = 0

    var isAtEnd: Bool { index == bytes.count }

    mutating func skipBlanks() {
      while index < bytes.count, bytes[index] == 0x20 || bytes[index] == 0x09 { index += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
      guard index < bytes.count, bytes[index] == byte else { return false }
      index += 1
      return true
    }

    mutating func element() -> WebSocketExtension? {
      guard let name = token() else { return nil }
      var element = WebSocketExtension(name: name)
      while true {
        skipBlanks()
        guard take(0x3B) else { return element }
        skipBlanks()
        guard let name = token() else { return nil }
        skipBlanks()
        guard take(0x3D) else {
          element.parameters.append((name, nil))
          continue
        }
        skipBlanks()
        guard let value = value() else { return nil }
        element.parameters.append((name, value))
      }
    }

    mutating func value() -> String? {
      guard take(0x22) else { return token() }
      var unquoted: [UInt8] = []
      while index < bytes.count, bytes[index] != 0x22 {
        if bytes[index] == 0x5C { index += 1 }
        guard index < bytes.count, FieldSyntax.isToken(bytes[index]) else { return nil }
        unquoted.append(bytes[index])
        index += 1
      }
      guard take(0x22), !unquoted.isEmpty else { return nil }
      return String(decoding: unquoted, as: UTF8.self)
    }

    mutating func token() -> String? {
      let start = index
      while index < bytes.count, FieldSyntax.isToken(bytes[index]) { index += 1 }
      return index > start ? String(decoding: bytes[start..<index], as: UTF8.self) : nil
    }
  }
}
