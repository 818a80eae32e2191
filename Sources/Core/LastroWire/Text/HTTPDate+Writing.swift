// SPDX-License-Identifier: Apache-2.0

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
