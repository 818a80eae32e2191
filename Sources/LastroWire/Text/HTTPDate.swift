// SPDX-License-Identifier: Apache-2.0

/// Dates of header fields (RFC 9110 §5.6.7), in seconds since 1970-01-01 00:00:00 UTC.
package enum HTTPDate {
  /// Reads any of the three formats: IMF-fixdate, RFC 850's, asctime's. The name of the day is not checked.
  ///
  /// - Parameters:
  ///   - text: the field's value.
  ///   - now: seconds since 1970: a year of two digits is the one that lies less than fifty years before it, or fifty
  ///     after it at most.
  /// - Returns: `nil` for text that is not such a date.
  package static func seconds(_ text: String, now: Int64) -> Int64? {
    let words = text.split(whereSeparator: { $0 == " " || $0 == "," || $0 == "-" }).map(String.init)
    switch words.count {
    // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT
    case 6 where words[5] == "GMT" && text.contains(","):
      guard let year = year(words[3], now: now) else { return nil }
      return seconds(year: year, month: words[2], day: words[1], time: words[4])
    case 5 where !text.contains(","):  // Sun Nov  6 08:49:37 1994
      guard words[4].utf8.count == 4, let year = number(words[4]) else { return nil }
      return seconds(year: year, month: words[1], day: words[2], time: words[3])
    default: return nil
    }
  }

  /// 9999-12-31 23:59:59 UTC, the last second that has a date.
  package static let lastSecond: Int64 = 253_402_300_799

  private static func year(_ text: String, now: Int64) -> Int? {
    guard let number = number(text) else { return nil }
    switch text.utf8.count {
    case 4: return number
    case 2:
      // Days since 1970 over the length of a year: exact enough to tell the century.
      let current = 1970 + Int(min(max(now, 0), lastSecond) / 31_556_952)
      let candidate = current - current % 100 + number
      if candidate > current + 50 { return candidate - 100 }
      return candidate <= current - 50 ? candidate + 100 : candidate
    default: return nil
    }
  }

  private static func seconds(year: Int, month: String, day: String, time: String) -> Int64? {
    let parts = time.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3, parts.allSatisfy({ $0.utf8.count == 2 }), let month = months[month],
      let day = number(day), (1...days(in: month, of: year)).contains(day), let hour = number(parts[0]), hour < 24,
      let minute = number(parts[1]), minute < 60, let second = number(parts[2]), second <= 60
    else { return nil }
    return days(year: year, month: month, day: day) * 86_400 + Int64(hour * 3_600 + minute * 60 + second)
  }

  private static func number(_ text: some StringProtocol) -> Int? {
    guard text.utf8.count <= 4, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int(text)
  }

  private static let months = Dictionary(
    uniqueKeysWithValues: zip(
      ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1...12))

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return switch month {
    case 2: isLeap ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years that begin in March.
  private static func days(year: Int, month: Int, day: Int) -> Int64 {
    let shifted = Int64(month <= 2 ? year - 1 : year)
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * Int64(month + (month > 2 ? -3 : 9)) + 2) / 5 + Int64(day) - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}
