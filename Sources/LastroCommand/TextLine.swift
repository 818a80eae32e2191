// SPDX-License-Identifier: Apache-2.0

extension String {
  /// On one line, and harmless to a terminal: control characters as `\n`, `\u{1B}` and the like.
  var onOneLine: String {
    unicodeScalars.map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: scalar.escaped(asASCII: true)
      default: String(scalar)
      }
    }.joined()
  }
}
