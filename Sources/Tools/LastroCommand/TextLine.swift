// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The text on one line and safe for a terminal: control characters are escaped as `\n`, `\u{1B}` and so on.
  var onOneLine: String {
    unicodeScalars.map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator: scalar.escaped(asASCII: true)
      default: String(scalar)
      }
    }.joined()
  }
}
