// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension GemtextLine {
  /// Returns the line as plain text for a terminal, wrapped to several lines if necessary, without a trailing line end;
  /// `nil` for a line that is not shown: the start and the end of preformatted lines.
  ///
  /// Control characters, which could manipulate a terminal, are shown as U+FFFD, and a tab as a space, even in
  /// preformatted lines. Preformatted lines are not wrapped. East Asian wide characters and emoji count as two columns.
  ///
  /// - Parameters:
  ///   - width: the width in columns. Default 80; less than 20 counts as 20.
  ///   - linkNumber: the number that is shown before a link. Default 1.
  public func plainText(width: Int = 80, linkNumber: Int = 1) -> String? {
    let width = max(20, width)
    switch self {
    case .text(let text): return Self.wrap(text, to: width, first: "", rest: "")
    case .link(let target, let label):
      let mark = "[\(linkNumber)] "
      return Self.wrap(label ?? target, to: width, first: mark, rest: String(repeating: " ", count: mark.count))
    case .heading(let level, let text):
      let mark = String(repeating: "#", count: level) + " "
      return Self.wrap(text, to: width, first: mark, rest: String(repeating: " ", count: mark.count))
    case .listItem(let text): return Self.wrap(text, to: width, first: "• ", rest: "  ")
    case .quote(let text): return Self.wrap(text, to: width, first: "> ", rest: "> ")
    case .preformatted(let text): return Self.harmless(text)
    case .preformatStart, .preformatEnd: return nil
    }
  }

  private static func wrap(_ text: String, to width: Int, first: String, rest: String) -> String {
    var lines: [String] = []
    var line = first
    var column = first.count
    var isEmpty = true
    for word in harmless(text).split(separator: " ") {
      for piece in pieces(of: word, width: width - rest.count) {
        let columns = columns(piece)
        if !isEmpty, column + 1 + columns > width {
          lines.append(line)
          (line, column, isEmpty) = (rest, rest.count, true)
        }
        line += isEmpty ? String(piece) : " \(piece)"
        column += columns + (isEmpty ? 0 : 1)
        isEmpty = false
      }
    }
    while line.utf8.last == 0x20 { line.removeLast() }
    lines.append(line)
    return lines.joined(separator: "\n")
  }

  /// Splits a word that is wider than a line into pieces.
  private static func pieces(of word: Substring, width: Int) -> [Substring] {
    guard columns(word) > width else { return [word] }
    var pieces: [Substring] = []
    var start = word.startIndex
    var column = 0
    for index in word.indices {
      let columns = columns(of: word[index])
      if column + columns > width, index > start {
        pieces.append(word[start..<index])
        (start, column) = (index, 0)
      }
      column += columns
    }
    return pieces + [word[start...]]
  }

  private static func columns(_ text: Substring) -> Int { text.reduce(0) { $0 + columns(of: $1) } }

  private static func columns(of character: Character) -> Int {
    guard let scalar = character.unicodeScalars.first else { return 0 }
    return switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
      0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      2
    default: 1
    }
  }

  /// Returns the text without characters that affect a terminal: control characters, and those that change the text
  /// direction.
  private static func harmless(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x09: result.append(" ")
      case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: result.append("\u{FFFD}")
      default: result.append(scalar)
      }
    }
    return String(result)
  }
}
