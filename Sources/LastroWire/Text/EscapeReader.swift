// SPDX-License-Identifier: Apache-2.0

/// One way to read an escape in text: the bytes it stands for, and where it ends.
package struct EscapeReading: Equatable {
  /// UTF-8.
  package var bytes: [UInt8]
  /// Index behind the escape.
  package var end: Int
}

/// Reads the escapes that a secret may be written with: percent-encoding (nested too), `+` of forms, backslashes of
/// JSON, Swift and shells, character references of HTML.
package enum EscapeReader {
  /// Most bytes that an escape takes; a piece of that length at the end of text that was cut may be half of one.
  package static let longest = 24

  /// What the escape at `start` may stand for, which `%`, `+`, `\\` or `&` begins; empty where there is none. Texts are
  /// escaped more than once (a URL in the query of a URL, JSON in a string of JSON), so there may be several.
  package static func readings(_ text: [UInt8], at start: Int) -> [EscapeReading] {
    switch text[start] {
    case UInt8(ascii: "+"): [EscapeReading(bytes: [0x20], end: start + 1)]
    case UInt8(ascii: "%"): percentReadings(text, at: start)
    case UInt8(ascii: "\\"): backslashReadings(text, at: start)
    case UInt8(ascii: "&"): reference(text, at: start).map { [$0] } ?? []
    default: []
    }
  }

  private static func percentReadings(_ text: [UInt8], at start: Int) -> [EscapeReading] {
    var readings: [EscapeReading] = []
    var index = start + 1
    // Each `25` is one more level: %41, %2541, %252541.
    for _ in 0..<4 {
      guard let byte = hexadecimal(text, at: index, digits: 2) else { break }
      readings.append(EscapeReading(bytes: [UInt8(truncatingIfNeeded: byte)], end: index + 2))
      guard byte == 0x25 else { break }
      index += 2
    }
    return readings
  }

  private static func backslashReadings(_ text: [UInt8], at start: Int) -> [EscapeReading] {
    var readings: [EscapeReading] = []
    var index = start
    while index < text.count, index - start < 8, text[index] == UInt8(ascii: "\\") {
      index += 1
      // Doubled once, twice, three times.
      if [2, 4, 8].contains(index - start) { readings.append(EscapeReading(bytes: [UInt8(ascii: "\\")], end: index)) }
    }
    guard index < text.count else { return readings }
    switch text[index] {
    case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "/"):
      readings.append(EscapeReading(bytes: [text[index]], end: index + 1))
    case UInt8(ascii: "n"): readings.append(EscapeReading(bytes: [0x0A], end: index + 1))
    case UInt8(ascii: "r"): readings.append(EscapeReading(bytes: [0x0D], end: index + 1))
    case UInt8(ascii: "t"): readings.append(EscapeReading(bytes: [0x09], end: index + 1))
    case UInt8(ascii: "b"): readings.append(EscapeReading(bytes: [0x08], end: index + 1))
    case UInt8(ascii: "f"): readings.append(EscapeReading(bytes: [0x0C], end: index + 1))
    case UInt8(ascii: "0"): readings.append(EscapeReading(bytes: [0], end: index + 1))
    case UInt8(ascii: "u"): unicode(text, at: index + 1, lead: index - start).map { readings.append($0) }
    default: break
    }
    return readings
  }

  /// `XXXX` with a second surrogate where the first needs one, or `{X…}`.
  private static func unicode(_ text: [UInt8], at start: Int, lead backslashes: Int) -> EscapeReading? {
    if start < text.count, text[start] == UInt8(ascii: "{") {
      let digits = text[(start + 1)...].prefix(9).prefix { value(of: $0) != nil }
      guard digits.endIndex < text.count, text[digits.endIndex] == UInt8(ascii: "}"),
        let value = hexadecimal(text, at: start + 1, digits: digits.count)
      else { return nil }
      return scalar(value, end: digits.endIndex + 1)
    }
    guard let first = hexadecimal(text, at: start, digits: 4) else { return nil }
    guard (0xD800..<0xDC00).contains(first) else { return scalar(first, end: start + 4) }
    let mark = start + 4 + backslashes
    guard mark < text.count, text[mark] == UInt8(ascii: "u"),
      let second = hexadecimal(text, at: mark + 1, digits: 4), (0xDC00..<0xE000).contains(second)
    else { return nil }
    return scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00), end: mark + 5)
  }

  /// `&quot;`, `&#39;`, `&#x27;` and the like.
  private static func reference(_ text: [UInt8], at start: Int) -> EscapeReading? {
    let name = text[(start + 1)...].prefix(10).prefix { $0 != UInt8(ascii: ";") }
    guard name.endIndex < text.count, text[name.endIndex] == UInt8(ascii: ";") else { return nil }
    let end = name.endIndex + 1
    switch String(decoding: name, as: UTF8.self) {
    case "amp": return EscapeReading(bytes: [UInt8(ascii: "&")], end: end)
    case "lt": return EscapeReading(bytes: [UInt8(ascii: "<")], end: end)
    case "gt": return EscapeReading(bytes: [UInt8(ascii: ">")], end: end)
    case "quot": return EscapeReading(bytes: [UInt8(ascii: "\"")], end: end)
    case "apos": return EscapeReading(bytes: [UInt8(ascii: "'")], end: end)
    case let number where number.hasPrefix("#x") || number.hasPrefix("#X"):
      return UInt32(number.dropFirst(2), radix: 16).flatMap { scalar($0, end: end) }
    case let number where number.hasPrefix("#"):
      return UInt32(number.dropFirst()).flatMap { scalar($0, end: end) }
    default: return nil
    }
  }

  private static func scalar(_ value: UInt32, end: Int) -> EscapeReading? {
    Unicode.Scalar(value).map { EscapeReading(bytes: Array(String($0).utf8), end: end) }
  }

  private static func hexadecimal(_ text: [UInt8], at start: Int, digits: Int) -> UInt32? {
    guard (1...8).contains(digits), start + digits <= text.count else { return nil }
    var value: UInt32 = 0
    for byte in text[start..<(start + digits)] {
      guard let digit = Self.value(of: byte) else { return nil }
      value = value << 4 | UInt32(digit)
    }
    return value
  }

  /// Value of an ASCII hexadecimal digit.
  private static func value(of digit: UInt8) -> Int? { Character(Unicode.Scalar(digit)).hexDigitValue }
}
