// SPDX-License-Identifier: Apache-2.0

extension Unicode.Scalar {
  /// Whether the character ends a line or is a control character. Such characters could forge a line of a log.
  var isControl: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }
}

extension String {
  /// The text on one line, with control characters in the form `\n`, `\u{1B}` and the like.
  package var onOneLine: String {
    guard unicodeScalars.contains(where: \.isControl) else { return self }
    return unicodeScalars.map { $0.isControl ? $0.escaped(asASCII: true) : String($0) }.joined()
  }
}

extension StringProtocol {
  /// The text for messages, with control and non-ASCII characters in the form `\u{…}`.
  package var escapedForDisplay: String { unicodeScalars.map { $0.escaped(asASCII: true) }.joined() }
}
