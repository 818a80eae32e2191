// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Cookie dates", .timeLimit(.minutes(15)))
struct CookieDateTests {
  @Test(
    "Dates are found in any order and punctuation",
    arguments: [
      ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("06-nov-94 8:49:37", 784_111_777),
      ("1994 Nov 6 08:49:37 anything", 784_111_777), ("08:49:37/6/November/1994", 784_111_777),
      ("Thu Jan 01 00:00:00 1970", 0), ("1 Jan 69 00:00:00", 3_124_224_000), ("1 Jan 70 00:00:00", 0),
      ("1 Jan 1601 00:00:00", -11_644_473_600), ("08:49:37x 6th Nov 1994y", 784_111_777),
      ("29 Feb 2000 00:00:00", 951_782_400),
    ] as [(String, Int64)])
  func found(text: String, seconds: Int64) { #expect(CookieDate.seconds(text.utf8) == seconds) }

  @Test(
    "Dates with missing or invalid parts are refused",
    arguments: [
      "", "06 Nov 1994", "08:49:37 Nov 1994", "06 08:49:37 1994", "06 Nov 08:49:37", "00 Nov 1994 08:49:37",
      "31 Nov 1994 08:49:37", "29 Feb 1900 00:00:00", "32 Jan 1994 00:00:00", "06 Nov 1600 08:49:37",
      "06 Nov 1994 24:49:37", "06 Nov 1994 08:60:37", "06 Nov 1994 08:49:60", "06 Nov 19945 08:49:37",
      "006 Nov 1994 08:49", "06 Nov 1994 08:49:371", "06 Nov 1994 008:49:37", "06 Nox 1994 08:49:37",
      "06 Nov 123 08:49:37",
    ])
  func refused(text: String) { #expect(CookieDate.seconds(text.utf8) == nil) }

  @Test("The first matching token counts, and a day is not taken for a year")
  func first() {
    #expect(CookieDate.seconds("01 02 Jan Feb 1970 00:00:01 23:00:00".utf8) == 1_009_843_201)
  }
}
