// SPDX-License-Identifier: Apache-2.0

/// A file of users and passwords in the format of `~/.netrc`.
struct Netrc {
  struct Entry: Equatable {
    /// The host; `nil` for all that have no entry.
    var machine: String?
    var login = ""
    var password = ""
  }

  private(set) var entries: [Entry] = []

  init(_ text: String) {
    var words = Self.words(of: text)[...]
    while let word = words.popFirst() {
      switch word {
      case "machine":
        if let host = words.popFirst() { entries.append(Entry(machine: host)) }
      case "default": entries.append(Entry())
      case "login": set(\.login, words.popFirst())
      case "password": set(\.password, words.popFirst())
      // The account is for FTP.
      case "account": _ = words.popFirst()
      default: break
      }
    }
  }

  private mutating func set(_ property: WritableKeyPath<Entry, String>, _ value: String?) {
    guard let value, let last = entries.indices.last else { return }
    entries[last][keyPath: property] = value
  }

  /// Returns the first entry of a host; the default one if there is none.
  func entry(for host: String) -> Entry? {
    let host = host.lowercased()
    return entries.first { $0.machine?.lowercased() == host } ?? entries.first { $0.machine == nil }
  }

  /// Returns the words, without comments and macros. A word in quotes may have blanks and escapes.
  private static func words(of text: String) -> [String] {
    var result: [String] = []
    var isMacro = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      // A macro ends at an empty line.
      if isMacro {
        isMacro = !line.isEmpty
        continue
      }
      var rest = line.drop { $0.isWhitespace }
      while let first = rest.first, first != "#" {
        let word = first == "\"" ? rest.removeQuotedWord() : plain(&rest)
        if word == "macdef", first != "\"" {
          isMacro = true
          break
        }
        result.append(word)
        rest = rest.drop { $0.isWhitespace }
      }
    }
    return result
  }

  private static func plain(_ rest: inout Substring) -> String {
    let word = rest.prefix { !$0.isWhitespace }
    rest = rest[word.endIndex...]
    return String(word)
  }
}
