// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
  /// Whether it ends a line, or does something else than show: what could forge a line of a log.
  var isControl: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension String {
  /// On one line: control characters as `\n`, `\u{1B}` and the like.
  package var onOneLine: String {
    guard unicodeScalars.contains(where: \.isControl) else { return self }
    return unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
  }
}

extension StringProtocol {
  /// For messages: control characters and what is not ASCII in their `\u{…}` form.
  package var escapedForDisplay: String { unicodeScalars.map { $0.escaped(asASCII: true) }.joined() }
}
