// SPDX-License-Identifier: Apache-2.0

/// Indents JSON for people. Names, numbers and texts stay as the server wrote them, in its order.
struct PrettyJSON {
  private enum Color: String {
    case name = "34;1"
    case text = "32"
    case number = "36"
    case word = "33"
  }

  private let bytes: [UInt8]
  private let isColored: Bool
  private var position = 0
  private var depth = 0
  private var output: [UInt8] = []

  private init(_ bytes: [UInt8], isColored: Bool) { (self.bytes, self.isColored) = (bytes, isColored) }

  /// Returns the indented text, which ends with a line end; `nil` for bytes that are not JSON. Several values, as in
  /// JSON lines, follow one another.
  static func text(of bytes: [UInt8], isColored: Bool) -> [UInt8]? {
    var printer = PrettyJSON(bytes, isColored: isColored)
    return printer.run() ? printer.output : nil
  }

  private mutating func run() -> Bool {
    skipBlanks()
    guard position < bytes.count else { return false }
    while position < bytes.count {
      guard value() else { return false }
      output.append(0x0A)
      skipBlanks()
    }
    return true
  }

  private mutating func value() -> Bool {
    guard position < bytes.count else { return false }
    switch bytes[position] {
    case UInt8(ascii: "{"): return list(end: UInt8(ascii: "}"), hasNames: true)
    case UInt8(ascii: "["): return list(end: UInt8(ascii: "]"), hasNames: false)
    case UInt8(ascii: "\""): return string(.text)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return word(.number)
    default: return word(.word)
    }
  }

  private mutating func list(end: UInt8, hasNames: Bool) -> Bool {
    // Deeper input would exhaust the stack.
    guard depth < 500 else { return false }
    output.append(bytes[position])
    position += 1
    skipBlanks()
    if position < bytes.count, bytes[position] == end { return close(end) }
    depth += 1
    while true {
      breakLine()
      guard !hasNames || name(), value() else { return false }
      skipBlanks()
      guard position < bytes.count else { return false }
      if bytes[position] == end {
        depth -= 1
        breakLine()
        return close(end)
      }
      guard bytes[position] == UInt8(ascii: ",") else { return false }
      output.append(UInt8(ascii: ","))
      position += 1
      skipBlanks()
    }
  }

  private mutating func close(_ end: UInt8) -> Bool {
    output.append(end)
    position += 1
    return true
  }

  private mutating func name() -> Bool {
    guard position < bytes.count, bytes[position] == UInt8(ascii: "\""), string(.name) else { return false }
    skipBlanks()
    guard position < bytes.count, bytes[position] == UInt8(ascii: ":") else { return false }
    output += Array(": ".utf8)
    position += 1
    skipBlanks()
    return true
  }

  private mutating func string(_ color: Color) -> Bool {
    var end = position + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      if bytes[end] == UInt8(ascii: "\\") { end += 1 }
      // A control character is not allowed, not even after a backslash, and could change the terminal.
      guard end < bytes.count, bytes[end] >= 0x20 else { return false }
      end += 1
    }
    guard end < bytes.count else { return false }
    put(bytes[position...end], color)
    position = end + 1
    return true
  }

  private mutating func word(_ color: Color) -> Bool {
    let end = bytes[position...].firstIndex { !Self.isOfWord($0) } ?? bytes.count
    let text = bytes[position..<end]
    let isKnown = color == .number || ["true", "false", "null"].contains { $0.utf8.elementsEqual(text) }
    guard isKnown else { return false }
    put(text, color)
    position = end
    return true
  }

  private static func isOfWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
      UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "E"):
      true
    default: false
    }
  }

  private mutating func skipBlanks() {
    while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
  }

  private mutating func breakLine() { output += Array(("\n" + String(repeating: "  ", count: depth)).utf8) }

  private mutating func put(_ text: ArraySlice<UInt8>, _ color: Color) {
    guard isColored else {
      output += text
      return
    }
    output += Array("\u{1B}[\(color.rawValue)m".utf8) + text + Array("\u{1B}[0m".utf8)
  }
}
