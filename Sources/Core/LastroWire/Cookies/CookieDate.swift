// SPDX-License-Identifier: Apache-2.0

/// Parses the dates of `Expires` (RFC 6265 §5.1.1), in any order and punctuation.
///
/// The grammar differs from that of ``HTTPDate``: for each of time, day, month and year, the first matching token
/// counts.
package struct CookieDate {
  private var time: (hour: Int, minute: Int, second: Int)?
  private var day: Int?
  private var month: Int?
  private var year: Int?

  /// Returns the seconds since 1970-01-01 00:00:00 UTC; `nil` if the text is not such a date, names a nonexistent day,
  /// or is before 1601.
  package static func seconds(_ text: some Collection<UInt8>) -> Int64? {
    var date = CookieDate()
    for token in text.split(whereSeparator: isDelimiter) { date.assign(Array(token)[...]) }
    return date.seconds
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  private mutating func assign(_ token: ArraySlice<UInt8>) {
    if time == nil, let found = Self.time(token) {
      time = found
    } else if day == nil, let found = Self.number(token, digits: 1...2) {
      day = found
    } else if month == nil, let found = Self.month(token) {
      month = found
    } else if year == nil, let found = Self.number(token, digits: 2...4) {
      year = found
    }
  }

  private var seconds: Int64? {
    guard let time, let day, let month, let year, time.hour < 24, time.minute < 60, time.second < 60 else { return nil }
    let full =
      switch year {
      case 70...99: year + 1900
      case 0...69: year + 2000
      default: year
      }
    guard full >= 1601 else { return nil }
    let parts = HTTPDateReader.Parts(
      month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
    return HTTPDate.seconds(parts, year: full)
  }

  /// Parses three numbers of one or two digits, not followed by another digit.
  private static func time(_ token: ArraySlice<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
    var rest = token
    var fields: [Int] = []
    while fields.count < 3 {
      let digits = rest.prefix { isDigit($0) }
      guard (1...2).contains(digits.count) else { return nil }
      fields.append(value(digits))
      rest = rest.dropFirst(digits.count)
      if fields.count < 3 {
        guard rest.popFirst() == UInt8(ascii: ":") else { return nil }
      }
    }
    return (fields[0], fields[1], fields[2])
  }

  /// Parses a number with a digit count in the range, not followed by another digit.
  private static func number(_ token: ArraySlice<UInt8>, digits count: ClosedRange<Int>) -> Int? {
    let digits = token.prefix { isDigit($0) }
    return count.contains(digits.count) ? value(digits) : nil
  }

  private static func month(_ token: ArraySlice<UInt8>) -> Int? {
    let start = token.prefix(3).map { $0 | 0x20 }
    return HTTPDate.monthNames.firstIndex { $0.utf8.elementsEqual(start) }.map { $0 + 1 }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

  private static func value(_ digits: ArraySlice<UInt8>) -> Int { digits.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
}
