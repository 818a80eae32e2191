// SPDX-License-Identifier: Apache-2.0

/// A value with parameters behind it, as `Content-Type` (RFC 9110 §8.3) and `Content-Disposition` (RFC 6266) have it.
package struct ParameterizedValue: Equatable, Sendable {
  /// `text/plain` or `form-data`, in lower case.
  package let essence: String
  package let parameters: [FieldParameter]

  /// Reads a value; `nil` for one that is not such.
  ///
  /// - Parameter escapes: whether a backslash in quotes stands for what follows it. Browsers write it as it is.
  package init?(_ text: String, escapes: Bool = true) {
    var scanner = FieldScanner(text)
    scanner.passBlanks()
    essence = scanner.text { FieldSyntax.isToken($0) || $0 == UInt8(ascii: "/") }.lowercased()
    guard !essence.isEmpty, let parameters = scanner.parameters(escapes: escapes), scanner.isAtEnd else { return nil }
    self.parameters = parameters
  }

  /// The one value of a parameter; `nil` where there is none, or are two that differ, of which readers take either.
  package func only(_ name: String) -> String? {
    let values = Set(parameters.filter { $0.name == name }.map(\.value))
    return values.count == 1 ? values.first : nil
  }
}
