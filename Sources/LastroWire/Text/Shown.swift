// SPDX-License-Identifier: Apache-2.0

extension BinaryInteger {
  /// For messages: the number and the noun, which has an s but after 1: "1 field", "2 fields".
  package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

extension Sequence<Unicode.Scalar> {
  /// For messages: the first 40 in quotes, what is not visible ASCII in its `\u{…}` form: what servers send shall forge
  /// no line of a log.
  var shown: String {
    let scalars = Array(prefix(41))
    let text = scalars.prefix(40).map { $0.escaped(asASCII: true) }.joined()
    return "\"\(text)\(scalars.count > 40 ? "…" : "")\""
  }
}
