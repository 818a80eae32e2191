// SPDX-License-Identifier: Apache-2.0

/// Reads the literals of hints from a Swift file: the values of arguments, variables and properties whose name ends
/// with `hint`, of arguments with the label `option`, which hints quote, and of calls that begin with `.init(.` or
/// `.init(stage`, whose hints have no label.
struct HintReader {
  private let bytes: [UInt8]
  private var index: Int
  private var found: [String] = []

  /// Returns the literals, each with the number of the line in which its value begins.
  static func hints(in bytes: [UInt8]) -> [(text: String, line: Int)] {
    var hints: [(text: String, line: Int)] = []
    var line = 1, isComment = false
    for place in bytes.indices {
      if bytes[place] == 0x0A {
        line += 1
        isComment = false
      }
      // Not the slashes of a URL.
      isComment = isComment || has(" //", in: bytes, at: place) || has("\n//", in: bytes, at: place)
      guard !isComment, let start = startOfValue(in: bytes, at: place) else { continue }
      var reader = HintReader(bytes: bytes, index: start)
      reader.readValue(throughCommas: bytes[place] == UInt8(ascii: "."))
      hints += reader.found.map { (text: $0, line: line) }
    }
    return hints
  }

  private init(bytes: [UInt8], index: Int) { (self.bytes, self.index) = (bytes, index) }

  private static func has(_ text: String, in bytes: [UInt8], at place: Int) -> Bool {
    bytes[place] == text.utf8.first && bytes[place...].starts(with: text.utf8)
  }

  /// Returns the place behind a mark of a hint's value; `nil` if no mark begins at `place`.
  private static func startOfValue(in bytes: [UInt8], at place: Int) -> Int? {
    switch bytes[place] {
    case UInt8(ascii: "."):
      let isCall = [".init(.", ".init(\n        .", ".init(\n        stage"].contains { has($0, in: bytes, at: place) }
      return isCall ? place + 6 : nil
    case UInt8(ascii: "o"): return has("option: \"", in: bytes, at: place) ? place + 8 : nil
    case UInt8(ascii: "h"), UInt8(ascii: "H"):
      guard bytes[(place + 1)...].starts(with: "int".utf8) else { return nil }
      // A name in a pattern: `let (code, hint): (FailureCode, String) = …`.
      for end in [":", " =", "):"] where bytes[(place + 4)...].starts(with: end.utf8) {
        return place + 4 + end.utf8.count
      }
      return nil
    default: return nil
    }
  }

  /// Reads to the end of the expression.
  private mutating func readValue(throughCommas: Bool) {
    var depth = 0
    // The value may begin on the next line.
    var last = UInt8(ascii: "=")
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "\""):
        let literal = readLiteral()
        // Parts that are joined by + are one text.
        let first = last == UInt8(ascii: "+") ? found.popLast() ?? "" : ""
        found.append(first + literal)
        last = byte
        continue
      case UInt8(ascii: "/") where bytes[index...].starts(with: "//".utf8):
        index = bytes[index...].firstIndex(of: 0x0A) ?? bytes.count
        continue
      case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"):
        depth -= 1
        if depth < 0 { return }
      case UInt8(ascii: ",") where depth == 0 && !throughCommas: return
      case 0x0A where depth == 0:
        let next = bytes[index...].first { $0 != 0x0A && $0 != 0x20 } ?? 0
        guard throughCommas || "=:+?".utf8.contains(last) || "\"+?:".utf8.contains(next) else { return }
      default: break
      }
      if byte != 0x0A, byte != 0x20 { last = byte }
      index += 1
    }
  }

  /// Reads a literal. Literals within its interpolations are found before it.
  private mutating func readLiteral() -> String {
    let quote = bytes[index...].starts(with: #"""""#.utf8) ? #"""""# : "\""
    var text: [UInt8] = []
    index += quote.utf8.count
    while index < bytes.count, !bytes[index...].starts(with: quote.utf8) {
      if bytes[index...].starts(with: #"\("#.utf8) {
        index += 2
        var inner = HintReader(bytes: bytes, index: index)
        inner.readValue(throughCommas: true)
        found += inner.found
        index = inner.index
        text += Array("…".utf8)
      } else {
        if bytes[index] == UInt8(ascii: "\\") { index += 1 }
        text.append(bytes[index])
      }
      index += 1
    }
    index += quote.utf8.count
    return String(decoding: text, as: UTF8.self)
  }
}
