// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// A JSON indenter. Names, numbers and texts stay as the server wrote them, in the same order.
struct PrettyJSON {
  private enum Color: String {
    case name = "34;1"
    case text = "32"
    case number = "36"
    case word = "33"
  }

  private let isColored: Bool
  private var rest: ArraySlice<UInt8>
  private var depth = 0
  /// Whether nothing but blanks follows the last opening bracket.
  private var isAtStart = false
  private var output: [UInt8] = []

  private init(_ bytes: [UInt8], isColored: Bool) { (rest, self.isColored) = (bytes[...], isColored) }

  /// Returns the indented text, which ends with a line end; `nil` for bytes that are not JSON. Several values, as in
  /// JSON lines, follow one another.
  static func text(of bytes: [UInt8], isColored: Bool) -> [UInt8]? {
    guard JSONFault.offset(in: bytes, allowsMore: true) == nil else { return nil }
    var printer = PrettyJSON(bytes, isColored: isColored)
    while let byte = printer.rest.first {
      printer.writeToken(startingWith: byte)
      // Deep nesting would inflate the output.
      guard printer.depth <= 500 else { return nil }
    }
    return printer.output
  }

  private mutating func writeToken(startingWith byte: UInt8) {
    switch byte {
    case _ where Self.isBlank(byte): rest.removeFirst()
    case UInt8(ascii: ","):
      takeSign()
      breakLine()
    case UInt8(ascii: ":"):
      takeSign()
      output.append(0x20)
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      depth -= 1
      if !isAtStart { breakLine() }
      takeSign()
      isAtStart = false
    default:
      if isAtStart { breakLine() }
      isAtStart = false
      takeBeginning(byte)
    }
    if depth == 0, !Self.isBlank(byte) { output.append(0x0A) }
  }

  /// Takes an opening bracket, a text with its quotes, a number or a word.
  private mutating func takeBeginning(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      takeSign()
      depth += 1
      isAtStart = true
    case UInt8(ascii: "\""):
      var end = rest.startIndex + 1
      while rest[end] != UInt8(ascii: "\"") { end += rest[end] == UInt8(ascii: "\\") ? 2 : 1 }
      let isName = rest[(end + 1)...].first { !Self.isBlank($0) } == UInt8(ascii: ":")
      write(rest[...end], as: isName ? .name : .text)
    default:
      let isNumber = byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      write(rest.prefix { !Self.isBlank($0) && !",]}[{\"".utf8.contains($0) }, as: isNumber ? .number : .word)
    }
  }

  private static func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  private mutating func breakLine() { output += Array(("\n" + String(repeating: "  ", count: depth)).utf8) }

  private mutating func takeSign() { output.append(rest.removeFirst()) }

  private mutating func write(_ text: ArraySlice<UInt8>, as color: Color) {
    rest = rest[text.endIndex...]
    guard isColored else {
      output += text
      return
    }
    output += Array("\u{1B}[\(color.rawValue)m".utf8) + text + Array("\u{1B}[0m".utf8)
  }
}
