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

  private static func seconds(_ date: HTTPDateReader.Parts, year: Int) -> Int64? {
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
