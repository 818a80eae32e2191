// SPDX-License-Identifier: Apache-2.0

/// Finds the byte at which a text stops being JSON (RFC 8259), for error messages: decoders do not report it.
package struct JSONFault {
  private enum Expected { case value, valueOrEnd, name, nameOrEnd, colon, commaOrEnd, nothing, valueOrNothing }

  private let bytes: [UInt8]
  /// The part that is expected after the value.
  private let end: Expected
  private var index = 0
  private var expected = Expected.value
  /// The brackets that are still open.
  private var open: [UInt8] = []

  private init(_ bytes: [UInt8], end: Expected) { (self.bytes, self.end) = (bytes, end) }

  /// Returns the offset of the first invalid byte, which is the text's length if the text ends too early; `nil` for
  /// valid JSON.
  ///
  /// - Parameter allowsMore: whether more values may follow, as in JSON lines.
  package static func offset(in bytes: [UInt8], allowsMore: Bool = false) -> Int? {
    var reader = Self(bytes, end: allowsMore ? .valueOrNothing : .nothing)
    return reader.readAll() ? nil : reader.index
  }

  /// Reads the whole text. Returns `false` if it is not valid JSON; ``index`` is then the offset of the fault.
  private mutating func readAll() -> Bool {
    while index < bytes.count {
      let byte = bytes[index]
      if byte == 0x20 || (0x09...0x0A).contains(byte) || byte == 0x0D {
        index += 1
      } else if !read(byte) {
        return false
      }
    }
    return expected == end
  }

  private mutating func read(_ byte: UInt8) -> Bool {
    switch (expected, byte) {
    case (.valueOrEnd, UInt8(ascii: "]")), (.nameOrEnd, UInt8(ascii: "}")): return close()
    case (.commaOrEnd, UInt8(ascii: "]")): return open.last == UInt8(ascii: "[") && close()
    case (.commaOrEnd, UInt8(ascii: "}")): return open.last == UInt8(ascii: "{") && close()
    case (.commaOrEnd, UInt8(ascii: ",")): return step(to: open.last == UInt8(ascii: "[") ? .value : .name)
    case (.colon, UInt8(ascii: ":")): return step(to: .value)
    case (.name, UInt8(ascii: "\"")), (.nameOrEnd, UInt8(ascii: "\"")): return readText() && found(.colon)
    case (.value, _), (.valueOrEnd, _), (.valueOrNothing, _): return readValue(byte)
    default: return false
    }
  }

  private mutating func readValue(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "{"):
      open.append(byte)
      return step(to: .nameOrEnd)
    case UInt8(ascii: "["):
      open.append(byte)
      return step(to: .valueOrEnd)
    case UInt8(ascii: "\""): return readText() && foundValue()
    case UInt8(ascii: "t"): return readWord("true") && foundValue()
    case UInt8(ascii: "f"): return readWord("false") && foundValue()
    case UInt8(ascii: "n"): return readWord("null") && foundValue()
    default: return readNumber() && foundValue()
    }
  }

  private mutating func step(to next: Expected) -> Bool {
    index += 1
    return found(next)
  }

  private mutating func found(_ next: Expected) -> Bool {
    expected = next
    return true
  }

  private mutating func foundValue() -> Bool { found(open.isEmpty ? end : .commaOrEnd) }

  private mutating func close() -> Bool {
    open.removeLast()
    index += 1
    return foundValue()
  }

  private mutating func readWord(_ word: StaticString) -> Bool {
    word.withUTF8Buffer { word in
      for byte in word {
        guard index < bytes.count, bytes[index] == byte else { return false }
        index += 1
      }
      return true
    }
  }

  private mutating func readText() -> Bool {
    index += 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index += 1
        return true
      case UInt8(ascii: "\\"):
        index += 1
        guard index < bytes.count, "\"\\/bfnrtu".utf8.contains(bytes[index]) else { return false }
        let isUnicode = bytes[index] == UInt8(ascii: "u")
        index += 1
        guard !isUnicode || readDigits(4, isHexadecimal: true) else { return false }
      case ..<0x20: return false
      default: index += 1
      }
    }
    return false
  }

  private mutating func readNumber() -> Bool {
    skip("-")
    if !skip("0") {
      guard readDigits(1) else { return false }
      while readDigits(1) {}
    }
    if skip(".") {
      guard readDigits(1) else { return false }
      while readDigits(1) {}
    }
    if skip("e") || skip("E") {
      if !skip("+") { skip("-") }
      guard readDigits(1) else { return false }
      while readDigits(1) {}
    }
    return true
  }

  @discardableResult
  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
    index += 1
    return true
  }

  private mutating func readDigits(_ count: Int, isHexadecimal: Bool = false) -> Bool {
    for _ in 0..<count {
      guard index < bytes.count else { return false }
      let byte = bytes[index]
      guard byte &- 48 < 10 || isHexadecimal && (byte | 0x20) &- 97 < 6 else { return false }
      index += 1
    }
    return true
  }
}
