// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// Reads the start of a command line: a command, or a method or a URL, which mean `fetch`.
enum CommandWords {
  /// The methods that may replace a command, with their options of `fetch`.
  private static let methods: [String: [String]] = [
    "get": ["-X", "GET"], "post": ["-X", "POST"], "put": ["-X", "PUT"], "patch": ["-X", "PATCH"],
    "delete": ["-X", "DELETE"], "options": ["-X", "OPTIONS"], "head": ["-I"],
  ]
  private static let own: Set = ["help", "-h", "-help", "--help", "--help-hidden", "--version"]

  private static var commands: [String] {
    LastroCommand.configuration.subcommands.map { $0._commandName }
  }

  /// Returns the command line with its command first.
  ///
  /// - Parameter words: the command line without the program's name.
  /// - Throws: `ValidationError`, with the nearest command, for a first word that is not understood.
  static func resolved(_ words: [String]) throws -> [String] {
    guard let first = words.first, !own.contains(first), !commands.contains(first) else { return words }
    if isOfParser(first) { return words }
    if let flags = methods[first.lowercased()] { return ["fetch"] + flags + words.dropFirst() }
    if first.hasPrefix("-") || isURL(first) { return ["fetch"] + words }
    let shown = first.onOneLine
    if let near = nearest(to: first.lowercased()) {
      throw ValidationError("'\(shown)' is not a command; write 'lastro \(near)', or a URL with a dot or a scheme.")
    }
    throw ValidationError("'\(shown)' is neither a command nor a URL; write 'lastro --help' for the commands.")
  }

  /// Whether the word asks the parser itself, such as for completions.
  private static func isOfParser(_ word: String) -> Bool {
    word.hasPrefix("--generate-completion-script") || word.hasPrefix("---") || word == "--experimental-dump-help"
  }

  private static func isURL(_ word: String) -> Bool {
    word.contains { ".:/".contains($0) } || word.lowercased() == "localhost"
  }

  /// Returns the command or method that differs in two letters at most, and in fewer than half of them.
  static func nearest(to word: String) -> String? {
    let found = (commands + methods.keys.sorted()).map { ($0, distance(Array(word), Array($0))) }.min { $0.1 < $1.1 }
    guard let found, found.1 <= 2, found.1 * 2 < max(word.count, found.0.count) else { return nil }
    return found.0
  }

  /// Returns the number of letters to insert, to remove, to replace, or to swap with the next one.
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for (row, letter) in left.enumerated() {
      var next = [row + 1]
      for (column, other) in right.enumerated() {
        var cost = min(rows[row][column + 1] + 1, next[column] + 1, rows[row][column] + (letter == other ? 0 : 1))
        if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
          cost = min(cost, rows[row - 1][column - 1] + 1)
        }
        next.append(cost)
      }
      rows.append(next)
    }
    return rows.last?.last ?? 0
  }
}
