// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroWire
import TestSupport
import Testing

@Suite("HTTP dates", .ownThread)
struct HTTPDateTests {
  /// The date 2026-01-01 00:00:00 UTC.
  static let now: Int64 = 1_767_225_600

  static func read(_ text: String, now: Int64 = now) -> Int64? { HTTPDate.seconds(text, now: now) }

  @Test(
    "The examples of RFC 9110 §5.6.7 are the same instant",
    arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
  func examples(text: String) { #expect(Self.read(text) == 784_111_777) }

  @Test("Every format is read back from calendar dates from 1970 to 9999")
  func calendar() {
    var random = SeededGenerator(seed: 1)
    for round in 0..<20_000 {
      let instant = Int64(random.next() % 253_402_300_800)
      for format in [WrittenDate.Format.fixdate, .asctime] {
        let text = WrittenDate.text(instant, format)
        #expect(Self.read(text) == instant, "round \(round): \(text)")
      }
    }
  }

  @Test("Two-digit years within fifty years in either direction are resolved")
  func twoDigits() {
    var random = SeededGenerator(seed: 2)
    for _ in 0..<5_000 {
      let now = Int64(random.next() % 4_000_000_000)
      // The instants stay within 49 years of the current date, because the precision of the rule is a year.
      let instant = now + Int64.random(in: -49 * 31_500_000...49 * 31_500_000, using: &random)
      guard instant >= 0 else { continue }
      let text = WrittenDate.text(instant, .rfc850)
      #expect(Self.read(text, now: now) == instant, "\(text), now \(WrittenDate.text(now))")
    }
  }

  @Test(
    "A year that seems more than fifty years ahead is in the past",
    arguments: [
      ("Tuesday, 01-Jan-76 00:00:00 GMT", 3_345_062_400 as Int64), ("Friday, 01-Jan-77 00:00:00 GMT", 220_924_800),
      ("Friday, 31-Dec-99 23:59:59 GMT", 946_684_799), ("Thursday, 01-Jan-26 00:00:00 GMT", 1_767_225_600),
    ])
  func fiftyYears(text: String, expected: Int64) { #expect(Self.read(text) == expected) }

  @Test("Two-digit years are resolved across the turn of a century")
  func century() {
    let new2000: Int64 = 946_684_800
    #expect(Self.read("Saturday, 01-Jan-00 00:00:10 GMT", now: new2000 - 20) == new2000 + 10)
    #expect(Self.read("Friday, 31-Dec-99 23:59:50 GMT", now: new2000 + 20) == new2000 - 10)
  }

  @Test("Leap years and month lengths are respected")
  func leapYears() {
    #expect(Self.read("Thu, 29 Feb 2024 00:00:00 GMT") == 1_709_164_800)
    #expect(Self.read("Tue, 29 Feb 2000 00:00:00 GMT") == 951_782_400)
    #expect(Self.read("Thu Feb 29 12:00:00 2024") == 1_709_208_000)
    for text in [
      "Wed, 29 Feb 2023 00:00:00 GMT", "Mon, 29 Feb 2100 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT",
      "Wed, 31 Apr 2025 00:00:00 GMT", "Wed, 00 Apr 2025 00:00:00 GMT", "Thu, 32 Jan 2026 00:00:00 GMT",
    ] {
      #expect(Self.read(text) == nil, "\(text)")
    }
  }

  @Test("Second 60 is the first of the next minute, and 61 is invalid")
  func leapSecond() {
    #expect(Self.read("Sat, 31 Dec 2016 23:59:60 GMT") == 1_483_228_800)
    #expect(Self.read("Sat, 31 Dec 2016 23:59:61 GMT") == nil)
  }

  @Test(
    "Invalid dates are refused",
    arguments: [
      "", " ", "0", "GMT", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
      "Sun, 06 Nov 1994 24:00:00 GMT",
      "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
      "Sun, 06 Nov 19940 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
      "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 194 08:49:37 GMT", "Sun Nov  6 08:49:37 94",
      "Sun, 06 Nov 1994 08:49:37 GMT GMT", "1994-11-06T08:49:37Z", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08::49:37 GMT", "Sun, 06 Nov 1994 08:49:+7 GMT",
    ])
  func garbage(text: String) { #expect(Self.read(text) == nil) }

  @Test(
    "Names and GMT are read in any case (RFC 9111 §4.2)",
    arguments: ["SUN, 06 nov 1994 08:49:37 gMT", "sunday, 06-NOV-94 08:49:37 gmt", "sUN NOV  6 08:49:37 1994"])
  func anyCase(text: String) { #expect(Self.read(text) == 784_111_777) }

  @Test(
    "Dates that mix the grammars, or have other blanks, are refused",
    arguments: [
      "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
      "Sunday, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
      "Sun, 06  Nov  1994 08:49:37 GMT", "Sun,06 Nov 1994 08:49:37 GMT", " Sun, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
      "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Sun, Nov  6 08:49:37 1994",
      "Day, 06 Nov 1994 08:49:37 GMT",
      "Sun, 06 Now 1994 08:49:37 GMT",
    ])
  func mixtures(text: String) { #expect(Self.read(text) == nil) }

  @Test("A written date is read back and agrees with the calendar")
  func written() {
    var random = SeededGenerator(seed: 4)
    for _ in 0..<5_000 {
      let instant = Int64(random.next() % 253_402_300_800)
      #expect(HTTPDate.text(instant) == WrittenDate.text(instant))
    }
    #expect(HTTPDate.text(-1) == "Thu, 01 Jan 1970 00:00:00 GMT")
    #expect(HTTPDate.text(.max) == "Fri, 31 Dec 9999 23:59:59 GMT")
  }

  @Test("A hundred thousand random texts from pieces of dates, with any clock, do not trap")
  func fuzz() {
    var random = SeededGenerator(seed: 3)
    let pieces = [
      "Sun", "Sunday", ",", " ", "-", "06", "6", "Nov", "Feb", "29", "1994", "94", "9999", "0000", "08:49:37",
      "23:59:60", ":", "::", "GMT", "99:99:99", "-1", "é", "\u{0}", "99999999999999999999", "Jan", "31",
    ]
    let clocks: [Int64] = [0, Self.now, -1, .min, .max, 4_102_444_799]
    func pick<Value>(_ values: [Value]) -> Value { values[Int.random(in: values.indices, using: &random)] }
    var dates = 0
    for _ in 0..<100_000 {
      var text = ""
      if Bool.random(using: &random) {
        for _ in 0..<Int.random(in: 0...12, using: &random) { text += pick(pieces) }
      } else {
        // The text is a date with one piece exchanged.
        var words = ["Sun", ", ", "06", " ", "Nov", " ", "1994", " ", "08:49:37", " ", "GMT"]
        words[Int.random(in: words.indices, using: &random)] = pick(pieces)
        text = words.joined()
      }
      if Self.read(text, now: pick(clocks)) != nil { dates += 1 }
    }
    #expect(dates > 0 && dates < 100_000)
  }
}
