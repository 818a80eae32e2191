// SPDX-License-Identifier: Apache-2.0

extension StructuredReader {
  /// Parses a bare item (RFC 9651 §4.2.3.1). Its first character determines the type.
  mutating func value() -> StructuredValue? {
    guard let first = bytes.first else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "?"): return boolean()
    case UInt8(ascii: ":"): return byteSequence()
    case UInt8(ascii: "@"): return date()
    case UInt8(ascii: "%"): return displayString()
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
    case UInt8(ascii: "*"): return .token(text(Self.isTokenByte))
    default: return Self.isLetter(first) ? .token(text(Self.isTokenByte)) : nil
    }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    isLetter(byte) || isDigit(byte) || "!#$%&'*+-.^_`|~:/".utf8.contains(byte)
  }

  /// Parses a number (§4.2.4). An integer has at most 15 digits; a decimal has at most 12 before the point and 3 after
  /// it.
  private mutating func number() -> StructuredValue? {
    let sign: Int64 = take("-") ? -1 : 1
    let whole = text(Self.isDigit)
    guard (1...15).contains(whole.utf8.count), let number = Int64(whole) else { return nil }
    guard take(".") else { return .integer(sign * number) }
    let fraction = text(Self.isDigit)
    let count = fraction.utf8.count
    guard whole.utf8.count <= 12, (1...3).contains(count), let part = Int64(fraction) else { return nil }
    let scale: Int64 = count == 1 ? 100 : count == 2 ? 10 : 1
    return .decimal(thousandths: sign * (number * 1000 + part * scale))
  }

  private mutating func string() -> StructuredValue? {
    bytes.removeFirst()
    var result: [UInt8] = []
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return .string(String(decoding: result, as: UTF8.self))
      case UInt8(ascii: "\\"):
        guard let escaped = bytes.popFirst(), "\"\\".utf8.contains(escaped) else { return nil }
        result.append(escaped)
      case 0x20...0x7E: result.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func boolean() -> StructuredValue? {
    bytes.removeFirst()
    if take("1") { return .boolean(true) }
    return take("0") ? .boolean(false) : nil
  }

  private mutating func date() -> StructuredValue? {
    bytes.removeFirst()
    guard case .integer(let seconds) = number() else { return nil }
    return .date(seconds)
  }

  /// Parses a display string (§4.2.10): `%"`, then text with `%` and two lower-case hexadecimal digits, which must
  /// decode to UTF-8.
  private mutating func displayString() -> StructuredValue? {
    bytes.removeFirst()
    guard take("\"") else { return nil }
    var result: [UInt8] = []
    while let byte = bytes.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return String(validating: result, as: UTF8.self).map { .displayString($0) }
      case UInt8(ascii: "%"):
        guard let high = hexadecimalDigit(), let low = hexadecimalDigit() else { return nil }
        result.append(high << 4 | low)
      case 0x20...0x7E: result.append(byte)
      default: return nil
      }
    }
    return nil
  }

  private mutating func hexadecimalDigit() -> UInt8? {
    switch bytes.popFirst() {
    case let digit? where Self.isDigit(digit): digit - UInt8(ascii: "0")
    case let digit? where (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(digit): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }

  /// Parses a byte sequence (§4.2.7). Missing padding and non-zero padding bits are accepted, as §4.2.7 recommends.
  private mutating func byteSequence() -> StructuredValue? {
    bytes.removeFirst()
    let digits = bytes.prefix { $0 != UInt8(ascii: ":") }
    bytes = bytes.dropFirst(digits.count)
    guard take(":") else { return nil }
    return Self.base64(digits).map { .bytes($0) }
  }

  private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var digits = text
    while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 { digits = digits.dropLast() }
    guard digits.count % 4 != 1, text.count == digits.count || text.count % 4 == 0 else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(digits.count * 3 / 4)
    var (bits, count): (UInt32, Int) = (0, 0)
    for digit in digits {
      guard let value = base64Value(digit) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        result.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return result
  }

  private static func base64Value(_ digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
