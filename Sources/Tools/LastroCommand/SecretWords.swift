// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Hides passwords and tokens of the command line, which all users of the machine could read in the process list.
enum SecretWords {
  /// The options whose values are secrets, or may contain one.
  private static let long: Set = [
    "user", "bearer", "oauth2-bearer", "cookie", "header", "proxy", "proxy-user", "via", "input",
  ]

  /// Overwrites the secrets in the memory from which the system reads the command line. Read the command line before.
  static func hide() {
    let words = CommandLine.arguments
    for (index, start) in starts(in: words).enumerated() where index < Int(CommandLine.argc) {
      guard let start, let bytes = CommandLine.unsafeArgv[index] else { continue }
      let length = strlen(bytes)
      if start < length { memset(bytes + start, 0x20, length - start) }
    }
  }

  /// - Returns: for each word, the index of the byte at which a secret starts in it; `nil` if it has none.
  static func starts(in words: [String]) -> [Int?] {
    var follows = false
    var isOver = false
    return words.map { word in
      if follows {
        follows = false
        return 0
      }
      if word == "--" { isOver = true }
      guard !isOver, word.hasPrefix("-") else { return nil }
      let start = word.hasPrefix("--") ? startOfLong(word) : startOfShort(word)
      guard start == word.utf8.count else { return start }
      follows = true
      return nil
    }
  }

  /// - Returns: the index at which the value starts; the word's length if the value is the next word.
  private static func startOfLong(_ word: String) -> Int? {
    let name = word.dropFirst(2).prefix { $0 != "=" }
    guard long.contains(String(name)) else { return nil }
    let end = 2 + name.utf8.count
    // `--name=` has an empty value, whatever word follows.
    return end == word.utf8.count ? end : word.utf8.count == end + 1 ? nil : end + 1
  }

  private static func startOfShort(_ word: String) -> Int? {
    for (offset, letter) in word.dropFirst().enumerated() {
      guard let name = CurlWords.short[letter] else { continue }
      return long.contains(name) ? word.prefix(offset + 2).utf8.count : nil
    }
    return nil
  }
}
