// SPDX-License-Identifier: Apache-2.0

/// Parses one date byte by byte, with one of the grammars of RFC 9110 §5.6.7. Use a new reader for each grammar.
struct HTTPDateReader {
  struct Parts {
    var year = 0
    var month = 0
    var day = 0
    var hour = 0
    var minute = 0
    var second = 0
  }

  private var bytes: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

  /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`.
  mutating func fixdate() -> Parts? {
    var parts = Parts()
    guard skipDay(ofLetters: 3), skip(", "), let day = number(2), skip(" "), let month = month(), skip(" "),
      let year = number(4), skip(" "), time(&parts), skip(" gmt"), bytes.isEmpty
    else { return nil }
    (parts.day, parts.month, parts.year) = (day, month, year)
    return parts
  }

  /// Parses `Sunday, 06-Nov-94 08:49:37 GMT`. The year keeps its two digits.
  mutating func rfc850() -> Parts? {
    var parts = Parts()
    guard skipDay(ofLetters: nil), skip(", "), let day = number(2), skip("-"), let month = month(), skip("-"),
      let year = number(2), skip(" "), time(&parts), skip(" gmt"), bytes.isEmpty
    else { return nil }
    (parts.day, parts.month, parts.year) = (day, month, year)
    return parts
  }

  /// Parses `Sun Nov  6 08:49:37 1994`.
  mutating func asctime() -> Parts? {
    var parts = Parts()
    guard skipDay(ofLetters: 3), skip(" "), let month = month(), skip(" "),
      let day = skip(" ") ? number(1) : number(2), skip(" "), time(&parts), skip(" "), let year = number(4),
      bytes.isEmpty
    else { return nil }
    (parts.day, parts.month, parts.year) = (day, month, year)
    return parts
  }

  private mutating func time(_ parts: inout Parts) -> Bool {
    guard let hour = number(2), skip(":"), let minute = number(2), skip(":"), let second = number(2) else {
      return false
    }
    (parts.hour, parts.minute, parts.second) = (hour, minute, second)
    return true
  }

  /// Consumes the name of a day: its first letters, or all of them.
  private mutating func skipDay(ofLetters count: Int?) -> Bool {
    for name in HTTPDate.dayNames where skip(name.utf8.prefix(count ?? name.utf8.count)) { return true }
    return false
  }

  private mutating func month() -> Int? {
    for (index, name) in HTTPDate.monthNames.enumerated() where skip(name.utf8.prefix(3)) { return index + 1 }
    return nil
  }

  private mutating func number(_ digits: Int) -> Int? {
    guard bytes.count >= digits else { return nil }
    var value = 0
    for byte in bytes.prefix(digits) {
      guard byte &- 0x30 < 10 else { return nil }
      value = value * 10 + Int(byte &- 0x30)
    }
    bytes = bytes.dropFirst(digits)
    return value
  }

  private mutating func skip(_ text: StaticString) -> Bool {
    skip(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// Consumes a text, ignoring the case of letters.
  private mutating func skip(_ text: some Collection<UInt8>) -> Bool {
    guard bytes.count >= text.count, bytes.prefix(text.count).elementsEqual(text, by: Self.isSame) else { return false }
    bytes = bytes.dropFirst(text.count)
    return true
  }

  private static func isSame(_ byte: UInt8, _ expected: UInt8) -> Bool {
    (byte &- 0x41 < 26 ? byte | 0x20 : byte) == expected
  }
}
