// SPDX-License-Identifier: Apache-2.0

/// Rewrites curl's command lines for the argument parser: a short option may have its value attached (`-XPOST`,
/// `-sSofile`), and a value may begin with a dash or contain an equals sign.
enum CurlWords {
  /// The short options that take a value, with their long names.
  static let short: [Character: String] = [
    "A": "user-agent", "C": "continue-at", "D": "dump-header", "E": "cert", "F": "form", "H": "header",
    "T": "upload-file",
    "X": "request", "b": "cookie", "c": "cookie-jar", "d": "data", "e": "referer", "m": "max-time", "o": "output",
    "r": "range", "u": "user", "w": "write-out", "x": "proxy",
  ]
  private static let long = Set(short.values).union([
    "data-raw", "data-binary", "data-ascii", "data-urlencode", "form-string", "json",
  ])
  private static let commands: Set = ["fetch", "explain", "events"]

  /// - Parameter words: the command line without the program's name.
  static func expanded(_ words: [String]) -> [String] {
    guard let command = words.first, commands.contains(command) else { return words }
    var rest = words.dropFirst()
    var result = [command]
    while let word = rest.popFirst() {
      if word == "--" { return result + [word] + rest }
      if word.hasPrefix("--") {
        let name = String(word.dropFirst(2))
        if long.contains(name), let value = rest.popFirst() {
          result += joined(name, value)
        } else {
          result.append(word)
        }
      } else if word.hasPrefix("-"), word.count > 1 {
        result += expanded(shorts: word.dropFirst(), &rest)
      } else {
        result.append(word)
      }
    }
    return result
  }

  private static func expanded(shorts: Substring, _ rest: inout ArraySlice<String>) -> [String] {
    var result: [String] = []
    var letters = shorts
    while let letter = letters.popFirst() {
      guard let name = short[letter] else {
        result.append("-\(letter)")
        continue
      }
      guard letters.isEmpty else { return result + joined(name, String(letters)) }
      return result + (rest.popFirst().map { joined(name, $0) } ?? ["--\(name)"])
    }
    return result
  }

  /// Joins an option and its value. An empty value is passed as a separate word, because the parser does not accept one
  /// after an equals sign.
  private static func joined(_ name: String, _ value: String) -> [String] {
    value.isEmpty ? ["--\(name)", ""] : ["--\(name)=\(value)"]
  }
}
