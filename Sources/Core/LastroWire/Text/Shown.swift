// SPDX-License-Identifier: Apache-2.0

extension BinaryInteger {
  /// Returns the number and the noun for messages, in the plural unless the number is 1: "1 field", "2 fields".
  package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

extension Sequence<Unicode.Scalar> {
  /// The first 40 characters in quotes, for messages. Characters other than visible ASCII are written as `\u{…}`, so
  /// that a server cannot forge log lines.
  var shown: String {
    let scalars = Array(prefix(41))
    let text = scalars.prefix(40).map { $0.escaped(asASCII: true) }.joined()
    return "\"\(text)\(scalars.count > 40 ? "…" : "")\""
  }
}
