// SPDX-License-Identifier: Apache-2.0

/// A value with parameters, as in `Content-Type` (RFC 9110 §8.3) and `Content-Disposition` (RFC 6266).
package struct ParameterizedValue: Equatable, Sendable {
  /// The value without parameters in lower case, such as `text/plain` or `form-data`.
  package let essence: String
  package let parameters: [FieldParameter]

  /// Parses a value; `nil` if it is malformed.
  ///
  /// - Parameter escapes: whether a backslash escapes the next byte in quotes. Browsers write backslashes literally.
  package init?(_ text: String, escapes: Bool = true) {
    var scanner = FieldScanner(text)
    scanner.passBlanks()
    essence = scanner.text { FieldSyntax.isToken($0) || $0 == UInt8(ascii: "/") }.lowercased()
    guard !essence.isEmpty, let parameters = scanner.parameters(escapes: escapes), scanner.isAtEnd else { return nil }
    self.parameters = parameters
  }

  /// Returns the value of a parameter; `nil` if it is absent, or given more than once with different values, of which
  /// readers choose differently.
  package func only(_ name: String) -> String? {
    let values = Set(parameters.filter { $0.name == name }.map(\.value))
    return values.count == 1 ? values.first : nil
  }
}
