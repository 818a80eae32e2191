// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Lastro

@Suite("Retry-After")
struct RetryAfterTests {
  static let here: Int64 = 1_767_225_600

  static func wait(
    _ values: String..., date: String? = nil, here: Duration = .seconds(here)
  ) -> Duration? {
    var fields = HTTPFields()
    for value in values { fields.append(HTTPField(name: .retryAfter, value: value)) }
    fields[.date] = date
    return RetryAfter.wait(fields) { here }
  }

  @Test("Seconds are digits only, of any length")
  func seconds() {
    #expect(Self.wait("120") == .seconds(120))
    #expect(Self.wait("007") == .seconds(7))
    #expect(Self.wait("0") == nil)
    #expect(Self.wait("5, 10 ,7") == .seconds(10), "fields that a proxy joined")
    #expect(Self.wait("99999999999999999999999") == .seconds(1_000_000_000))
    #expect(Self.wait("9223372036854775807") == .seconds(1_000_000_000))
    for text in ["", "-1", "+1", "1.5", "1e3", "0x10", "١", "5 10", "5; 10", "soon", "NaN", "1 s"] {
      #expect(Self.wait(text) == nil, "\(text)")
    }
    #expect(RetryAfter.wait([:]) { .zero } == nil)
  }

  @Test("The longest of several values counts, and invalid ones are ignored")
  func several() {
    #expect(Self.wait("3", "9", "soon", "1") == .seconds(9))
    #expect(Self.wait("3", WrittenDate.text(Self.here + 30)) == .seconds(30))
  }

  @Test("Dates are relative to the response's own Date, not to the local clock", arguments: WrittenDate.Format.allCases)
  func dates(format: WrittenDate.Format) {
    for skew: Int64 in [0, -90_000, 90_000] {
      let there = Self.here + skew
      for served in WrittenDate.Format.allCases {
        let date = WrittenDate.text(there, served)
        #expect(Self.wait(WrittenDate.text(there + 45, format), date: date) == .seconds(45))
        #expect(Self.wait(WrittenDate.text(there, format), date: date) == nil)
        #expect(Self.wait(WrittenDate.text(there - 45, format), date: date) == nil)
      }
    }
    #expect(Self.wait(WrittenDate.text(Self.here + 20, format)) == .seconds(20))
    #expect(Self.wait(WrittenDate.text(Self.here + 20, format), date: "yesterday") == .seconds(20))
    // The local time is half a second past the full second. The remaining wait is not rounded down.
    #expect(
      Self.wait(WrittenDate.text(Self.here + 20, format), here: .seconds(Self.here) + .milliseconds(500))
        == .seconds(20))
  }

  @Test("No clock makes it trap")
  func clocks() {
    let text = "Fri, 31 Dec 9999 23:59:59 GMT"
    for seconds: Int64 in [.min, .min + 1, -1, 0, .max] {
      let wait = Self.wait(text, here: Duration(secondsComponent: seconds, attosecondsComponent: 0))
      #expect(wait.map { $0 <= .seconds(1_000_000_000) } ?? true)
      _ = Self.wait(
        "Friday, 31-Dec-99 23:59:59 GMT", here: Duration(secondsComponent: seconds, attosecondsComponent: 0))
    }
  }
}
