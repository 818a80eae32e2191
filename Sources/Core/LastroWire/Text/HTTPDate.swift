// SPDX-License-Identifier: Apache-2.0

/// The dates of header fields (RFC 9110 §5.6.7), in seconds since 1970-01-01 00:00:00 UTC.
package enum HTTPDate {
  /// Parses any of the three formats: IMF-fixdate, RFC 850, and asctime. Names and `GMT` may be in any case (RFC 9111
  /// §4.2). The day of the week is not checked.
  ///
  /// - Parameters:
  ///   - text: the field's value.
  ///   - now: seconds since 1970. A two-digit year is interpreted as less than fifty years before it, or at most fifty
  ///     years after it.
  /// - Returns: `nil` if the text is not such a date.
  package static func seconds(_ text: String, now: Int64) -> Int64? {
    // The longest date is a Wednesday in the format of RFC 850.
    guard (24...33).contains(text.utf8.count) else { return nil }
    let bytes = Array(text.utf8)
    var reader = HTTPDateReader(bytes)
    if let date = reader.fixdate() { return seconds(date, year: date.year) }
    reader = HTTPDateReader(bytes)
    if let date = reader.rfc850() { return seconds(date, year: year(ofTwoDigits: date.year, now: now)) }
    reader = HTTPDateReader(bytes)
    return reader.asctime().flatMap { seconds($0, year: $0.year) }
  }

  /// The last representable second: 9999-12-31 23:59:59 UTC.
  package static let lastSecond: Int64 = 253_402_300_799

  static let dayNames = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
  static let monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  private static func year(ofTwoDigits number: Int, now: Int64) -> Int {
    // The mean length of a year is exact enough to determine the century.
    let current = 1970 + Int(min(max(now, 0), lastSecond) / 31_556_952)
    let candidate = current - current % 100 + number
    if candidate > current + 50 { return candidate - 100 }
    return candidate <= current - 50 ? candidate + 100 : candidate
  }

  /// Returns the seconds since 1970; `nil` if the day or the time of day does not exist.
  static func seconds(_ date: HTTPDateReader.Parts, year: Int) -> Int64? {
    guard (1...days(in: date.month, of: year)).contains(date.day), date.hour < 24, date.minute < 60, date.second <= 60
    else { return nil }
    return days(year: year, month: date.month, day: date.day) * 86_400
      + Int64(date.hour * 3_600 + date.minute * 60 + date.second)
  }

  private static func days(in month: Int, of year: Int) -> Int {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return switch month {
    case 2: isLeap ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns the days since 1970-01-01 in the Gregorian calendar, calculated in eras of 400 years that begin in March.
  private static func days(year: Int, month: Int, day: Int) -> Int64 {
    let shifted = Int64(month <= 2 ? year - 1 : year)
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * Int64(month + (month > 2 ? -3 : 9)) + 2) / 5 + Int64(day) - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

extension HTTPDate {
  /// Returns the date as IMF-fixdate, the only format that may be sent: `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// - Parameter seconds: since 1970. Values outside the range of the format are clamped to it.
  package static func text(_ seconds: Int64) -> String {
    let seconds = min(max(seconds, 0), lastSecond)
    let days = seconds / 86_400
    let (year, month, day) = date(ofDay: days)
    // 1970 began on a Thursday.
    let weekday = capitalized(dayNames[Int((days + 4) % 7)].prefix(3))
    let time = seconds % 86_400
    return "\(weekday), \(two(day)) \(capitalized(monthNames[Int(month) - 1][...])) \(four(year)) "
      + "\(two(time / 3_600)):\(two(time % 3_600 / 60)):\(two(time % 60)) GMT"
  }

  /// Returns the Gregorian date of a day since 1970, calculated in eras of 400 years that begin in March.
  package static func date(ofDay days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = (days + 719_468).floored(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func capitalized(_ name: Substring) -> String { name.prefix(1).uppercased() + name.dropFirst() }

  private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }

  private static func four(_ number: Int64) -> String { String("000\(number)".suffix(4)) }
}

extension Int64 {
  /// Returns quotient and remainder of a division that rounds down, so that the remainder is not negative.
  package func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
