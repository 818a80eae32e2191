// SPDX-License-Identifier: Apache-2.0

/// A possible interpretation of an escape in a text: its bytes and its end.
package struct EscapeReading: Equatable {
  /// The decoded bytes in UTF-8.
  package var bytes: [UInt8]
  /// The index after the escape.
  package var end: Int
}

/// Decodes the escapes that a secret may be written with: percent-encoding (also nested), `+` in forms, backslash
/// escapes of JSON, Swift and shells, and character references of HTML.
package enum EscapeReader {
  /// The maximum length of an escape in bytes. At the end of a truncated text, up to that many bytes may be an
  /// incomplete escape.
  package static let longest = 24

  /// Returns the possible interpretations of the escape at `start`, which begins with `%`, `+`, `\\` or `&`; empty if
  /// there is none. There may be several, because texts are escaped more than once (a URL in the query of a URL, JSON
  /// in a string of JSON).
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
    // Each `25` adds a level: %41, %2541, %252541.
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
      // A backslash that was doubled once, twice, or three times.
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

  /// Decodes `XXXX`, followed by a second surrogate if needed, or `{X…}`.
  private static func unicode(_ text: [UInt8], at start: Int, lead backslashes: Int) -> EscapeReading? {
    if start < text.count, text[start] == UInt8(ascii: "{") {
      let digits = text[(start + 1)...].prefix(9).prefix { $0.hexadecimalValue != nil }
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

  /// Decodes `&quot;`, `&#39;`, `&#x27;` and similar references.
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
      return hexadecimal(text, at: start + 3, digits: name.count - 2).flatMap { scalar($0, end: end) }
    // The initializer of the number would accept a sign.
    case let number where number.hasPrefix("#") && name.dropFirst().allSatisfy({ $0 &- 48 < 10 }):
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
      guard let digit = byte.hexadecimalValue else { return nil }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}
