// SPDX-License-Identifier: Apache-2.0

/// Parses gemtext (`text/gemini`) into lines, from bytes that arrive in pieces.
///
/// Leniencies that the specification asks for: a line ends in LF or CRLF, the last one may have no end; a byte order
/// mark at the start is dropped; bytes that are not UTF-8 become U+FFFD; a link line without a target is text.
///
/// Rules for editing: no I/O; never keeps more than one line, and of that no more than `maximumLineBytes`.
package struct GemtextMachine: Sendable {
  package enum Line: Equatable, Sendable {
    case text(String)
    case link(target: String, label: String?)
    case heading(level: Int, text: String)
    case listItem(String)
    case quote(String)
    /// Preformatted lines follow. The value is the alternative text after the marks; `nil` if there is none.
    case preformatStart(String?)
    case preformatted(String)
    case preformatEnd
  }

  private let maximumLineBytes: Int
  private var line: [UInt8] = []
  private var isPreformatted = false
  private var isFirstLine = true
  /// Whether the current line continues a line that was split because it was too long.
  private var isContinued = false

  /// Creates a machine.
  ///
  /// - Parameter maximumLineBytes: the length above which lines are split into pieces, at least 1,024. Later pieces are
  ///   text or preformatted.
  package init(maximumLineBytes: Int) { self.maximumLineBytes = max(1024, maximumLineBytes) }

  /// Consumes bytes and appends the lines that end in them.
  package mutating func consume(_ bytes: some Collection<UInt8>, into lines: inout [Line]) {
    for byte in bytes {
      if byte == 0x0A {
        endLine(&lines)
      } else {
        line.append(byte)
        if line.count > maximumLineBytes { split(&lines) }
      }
    }
  }

  /// Ends the document: appends a last line without an end, and closes preformatted text.
  package mutating func finish(into lines: inout [Line]) {
    if !line.isEmpty { endLine(&lines) }
    if isPreformatted { lines.append(.preformatEnd) }
    isPreformatted = false
  }

  private mutating func endLine(_ lines: inout [Line]) {
    if line.last == 0x0D { line.removeLast() }
    // The rest of a split line may consist only of the line end.
    if !(isContinued && line.isEmpty) { lines.append(read(line)) }
    line.removeAll(keepingCapacity: true)
    isContinued = false
  }

  /// Appends the part of an overlong line up to a character boundary.
  private mutating func split(_ lines: inout [Line]) {
    var end = line.count - 1
    while end > line.count - 4, line[end] & 0xC0 == 0x80 { end -= 1 }
    let rest = Array(line[end...])
    line.removeSubrange(end...)
    lines.append(read(line))
    line = rest
    isContinued = true
  }

  private mutating func read(_ bytes: [UInt8]) -> Line {
    var text = String(decoding: bytes, as: UTF8.self)
    if isFirstLine, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
    isFirstLine = false
    if isContinued { return isPreformatted ? .preformatted(text) : .text(text) }
    if text.utf8.starts(with: "```".utf8) {
      isPreformatted.toggle()
      guard isPreformatted else { return .preformatEnd }
      let alternative = Self.trimmed(text.utf8.dropFirst(3))
      return .preformatStart(alternative.isEmpty ? nil : alternative)
    }
    return isPreformatted ? .preformatted(text) : Self.marked(text)
  }

  private static func marked(_ text: String) -> Line {
    let bytes = text.utf8
    switch bytes.first {
    case UInt8(ascii: "="): return bytes.starts(with: "=>".utf8) ? link(text) ?? .text(text) : .text(text)
    case UInt8(ascii: "#"):
      let level = bytes.prefix(3).prefix { $0 == UInt8(ascii: "#") }.count
      return .heading(level: level, text: trimmed(bytes.dropFirst(level)))
    case UInt8(ascii: "*"): return bytes.starts(with: "* ".utf8) ? .listItem(trimmed(bytes.dropFirst(2))) : .text(text)
    case UInt8(ascii: ">"): return .quote(trimmed(bytes.dropFirst()))
    default: return .text(text)
    }
  }

  private static func link(_ text: String) -> Line? {
    let rest = text.utf8.dropFirst(2).drop(while: \.isSpace)
    let target = rest.prefix { !$0.isSpace }
    guard !target.isEmpty else { return nil }
    let label = trimmed(rest.dropFirst(target.count))
    return .link(target: String(Substring(target)), label: label.isEmpty ? nil : label)
  }

  private static func trimmed(_ text: Substring.UTF8View) -> String { String(Substring(text.withoutSpaces)) }
}
