// SPDX-License-Identifier: Apache-2.0

/// A complete, validated response head: status line and fields.
package struct ResponseHead: Equatable, Sendable {
  package struct Field: Equatable, Sendable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The major and minor version. HTTP/2 has minor version 0.
  package var version: (major: UInt8, minor: UInt8)
  package var status: Int
  package var reason: String
  package var fields: [Field]

  package init(version: (major: UInt8, minor: UInt8), status: Int, reason: String, fields: [Field] = []) {
    self.version = version
    self.status = status
    self.reason = reason
    self.fields = fields
  }

  package static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.version == rhs.version && lhs.status == rhs.status && lhs.reason == rhs.reason && lhs.fields == rhs.fields
  }
}

extension ResponseHead {
  /// Returns the values of all fields with this name, in order. The name must be lower-case ASCII.
  func values(_ name: StaticString) -> [String] { fields.filter { $0.name.isASCII(name) }.map(\.value) }

  /// Returns the elements of a field that is a list of tokens (RFC 9110 §5.6.1), from all its lines.
  func elements(_ name: StaticString) -> [String] { values(name).flatMap { FieldSyntax.elements($0) } }

  /// Whether the server keeps the connection open after the response (RFC 9112 §9.3).
  var isPersistent: Bool {
    var keepsAlive = version.minor >= 1
    for field in fields where field.name.isASCII("connection") {
      if field.value.isASCII("keep-alive") {
        keepsAlive = true
        continue
      }
      for option in FieldSyntax.elements(field.value) {
        if option.isASCII("close") { return false }
        keepsAlive = keepsAlive || option.isASCII("keep-alive")
      }
    }
    return keepsAlive
  }
}
