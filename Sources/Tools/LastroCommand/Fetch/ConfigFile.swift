// SPDX-License-Identifier: Apache-2.0

import Lastro

/// An options file for `-K`, in curl's format.
enum ConfigFile {
  /// The maximum depth of files that name each other.
  private static let maximumDepth = 8

  /// Returns the words of a command line in which `--config=FILE` is replaced by the options of the file.
  ///
  /// - Parameter words: as ``CurlWords`` returns them.
  /// - Throws: `ConfigurationError` for a file that cannot be read.
  static func expanded(_ words: [String], depth: Int = 0) throws -> [String] {
    let mark = "--config="
    return try words.flatMap { word -> [String] in
      guard word.hasPrefix(mark) else { return [word] }
      guard depth < maximumDepth else {
        throw ConfigurationError("-K: the files name each other", hint: "leave 'config' out of one of them")
      }
      let text = try StandardInput.text(String(word.dropFirst(mark.count)), of: "-K")
      return try expanded(
        Array(CurlWords.expanded(["fetch"] + options(in: text)).dropFirst()), depth: depth + 1)
    }
  }

  /// Returns the options of a text as words. Each line has `name value`, `name = value` or `name: value`; values may be
  /// quoted.
  static func options(in text: String) -> [String] {
    text.split(whereSeparator: \.isNewline).flatMap { line -> [String] in
      let line = line.drop { $0.isWhitespace }
      guard let first = line.first, first != "#" else { return [] }
      let name = line.prefix { !$0.isWhitespace && $0 != "=" && $0 != ":" }
      var rest = line[name.endIndex...].drop { $0.isWhitespace }
      if rest.first == "=" || rest.first == ":" { rest = rest.dropFirst().drop { $0.isWhitespace } }
      let option = first == "-" ? String(name) : "--\(name)"
      return rest.isEmpty ? [option] : [option, value(rest)]
    }
  }

  private static func value(_ text: Substring) -> String {
    var rest = text
    return rest.first == "\"" ? rest.removeQuotedWord() : String(text.prefix { !$0.isWhitespace })
  }
}
