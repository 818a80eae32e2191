// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Shows gemtext as plain text: wrapped to a width, its links numbered. One for each document, line by line.
///
/// ```swift
/// var renderer = GemtextRenderer(width: 72)
/// for line in GemtextParser.lines(of: document) { print(renderer.render(line)) }
/// let second = renderer.links[1]
/// ```
///
/// Control characters, with which a document could drive a terminal, are shown as U+FFFD; a tab as a space, in
/// preformatted lines too. Preformatted lines are not wrapped. A width counts East Asian wide characters and emoji as
/// two.
public struct GemtextRenderer: Sendable {
  /// Columns; 20 at least.
  public let width: Int
  /// Whether the target of a link stands behind its label. Default false.
  public let showsTargets: Bool
  /// The targets of the links so far; number 1 first.
  public private(set) var links: [String] = []

  /// Makes a renderer. `width` is 80 by default, and below 20 counts as 20; targets are not shown by default.
  public init(width: Int = 80, showsTargets: Bool = false) {
    self.width = max(20, width)
    self.showsTargets = showsTargets
  }

  /// A whole document, with the defaults of ``init(width:showsTargets:)``.
  public static func text(_ lines: some Sequence<GemtextLine>, width: Int = 80, showsTargets: Bool = false) -> String {
    var renderer = GemtextRenderer(width: width, showsTargets: showsTargets)
    return lines.compactMap { renderer.rendered($0) }.map { $0 + "\n" }.joined()
  }

  /// The text of one line, which may be several; without a final line end. Empty for one that shows nothing.
  public mutating func render(_ line: GemtextLine) -> String { rendered(line) ?? "" }

  private mutating func rendered(_ line: GemtextLine) -> String? {
    switch line {
    case .text(let text): return wrap(text, first: "", rest: "")
    case .link(let target, let label):
      links.append(target)
      let mark = "[\(links.count)] "
      let shown = label.map { showsTargets ? "\($0) <\(target)>" : $0 } ?? target
      return wrap(shown, first: mark, rest: String(repeating: " ", count: mark.count))
    case .heading(let level, let text):
      let mark = String(repeating: "#", count: level) + " "
      return wrap(text, first: mark, rest: String(repeating: " ", count: mark.count))
    case .listItem(let text): return wrap(text, first: "• ", rest: "  ")
    case .quote(let text): return wrap(text, first: "> ", rest: "> ")
    case .preformatStart: return nil
    case .preformatted(let text): return Self.harmless(text)
    case .preformatEnd: return nil
    }
  }

  private func wrap(_ text: String, first: String, rest: String) -> String {
    var lines: [String] = []
    var line = first
    var column = first.count
    var isEmpty = true
    for word in Self.harmless(text).split(separator: " ") {
      for piece in Self.pieces(of: word, width: width - rest.count) {
        let columns = Self.columns(piece)
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

  /// A word that is wider than a line comes in pieces.
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

  /// Without what a terminal acts upon: control characters, and those that change the direction of what follows.
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
