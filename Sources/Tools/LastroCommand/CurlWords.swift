// SPDX-License-Identifier: Apache-2.0

/// Rewrites curl's command lines for the argument parser: a short option may have its value attached (`-XPOST`,
/// `-sSofile`), a value may begin with a dash or contain an equals sign, and `-o` and `-O` belong to URLs in the order
/// in which they are written.
enum CurlWords {
  /// The short options that take a value, with their long names.
  static let short: [Character: String] = [
    "A": "user-agent", "C": "continue-at", "D": "dump-header", "E": "cert", "F": "form", "H": "header",
    "T": "upload-file", "K": "config", "U": "proxy-user", "X": "request", "b": "cookie", "c": "cookie-jar", "d": "data",
    "e": "referer", "m": "max-time", "o": "output",
    "r": "range", "u": "user", "w": "write-out", "x": "proxy", "z": "time-cond",
  ]
  private static let long = Set(short.values).union([
    "data-raw", "data-binary", "data-ascii", "data-urlencode", "form-string", "json",
    "trace", "trace-ascii", "url-query",
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
        if command == "fetch", name == "url" {
          if let url = rest.popFirst() { result.append(url) }
        } else if command == "fetch", name.hasPrefix("url=") {
          result.append(String(name.dropFirst(4)))
        } else if command == "fetch", name == "remote-name" {
          result += joined("output", OutputFlags.remoteMark)
        } else if long.contains(name), let value = rest.popFirst() {
          result += joined(name, value)
        } else {
          result.append(word)
        }
      } else if word.hasPrefix("-"), word.count > 1 {
        result += expanded(shorts: word.dropFirst(), &rest, ofFetch: command == "fetch")
      } else {
        result.append(word)
      }
    }
    return result
  }

  private static func expanded(
    shorts: Substring, _ rest: inout ArraySlice<String>, ofFetch: Bool
  ) -> [String] {
    var result: [String] = []
    var letters = shorts
    while let letter = letters.popFirst() {
      guard let name = short[letter] else {
        switch letter {
        case "O" where ofFetch: result += joined("output", OutputFlags.remoteMark)
        case ":" where ofFetch: result.append("--next")
        default: result.append("-\(letter)")
        }
        continue
      }
      guard letters.isEmpty else { return result + joined(name, String(letters)) }
      return result + (rest.popFirst().map { joined(name, $0) } ?? ["--\(name)"])
    }
    return result
  }

  /// Returns the options of each request of `fetch`, as `--next` divides them, with the options of the files of `-K`.
  ///
  /// - Parameter words: the expanded command line, without `fetch`.
  static func requests(_ words: [String]) throws -> [[String]] {
    let words = try ConfigFile.expanded(words)
    let end = words.firstIndex(of: "--") ?? words.endIndex
    var groups = words[..<end].split(separator: "--next", omittingEmptySubsequences: false).map(Array.init)
    groups[groups.count - 1] += words[end...]
    // A file of -K may end with it.
    return groups.count > 1 ? groups.filter { !$0.isEmpty } : groups
  }

  /// Joins an option and its value. An empty value is passed as a separate word, because the parser does not accept one
  /// after an equals sign.
  private static func joined(_ name: String, _ value: String) -> [String] {
    value.isEmpty ? ["--\(name)", ""] : ["--\(name)=\(value)"]
  }
}
