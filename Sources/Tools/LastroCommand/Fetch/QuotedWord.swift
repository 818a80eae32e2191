// SPDX-License-Identifier: Apache-2.0

extension Substring {
  /// Removes a word in double quotes from the start, and returns it without quotes and escapes. A missing closing quote
  /// is at the end. The escapes are those of curl's files: `\n`, `\r`, `\t` and `\v`; before any other character, a
  /// backslash is dropped.
  mutating func removeQuotedWord() -> String {
    removeFirst()
    var word = ""
    while let character = popFirst(), character != "\"" {
      guard character == "\\", let next = popFirst() else {
        word.append(character)
        continue
      }
      word.append(["n": "\n", "r": "\r", "t": "\t", "v": "\u{B}"][next] ?? next)
    }
    return word
  }
}
