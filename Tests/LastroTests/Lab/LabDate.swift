// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes dates of header fields in the three formats of RFC 9110 §5.6.7, by Foundation's calendar: not by the code under
/// test.
enum LabDate {
  enum Format: CaseIterable { case fixdate, rfc850, asctime }

  static func text(_ seconds: Int64, _ format: Format = .fixdate) -> String {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    let date = Date(timeIntervalSince1970: Double(seconds))
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
    let year = parts.year ?? 0
    let month = months[(parts.month ?? 1) - 1]
    let weekday = weekdays[(parts.weekday ?? 1) - 1]
    let day = two(parts.day)
    let time = "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
    switch format {
    case .fixdate: return "\(weekday.prefix(3)), \(day) \(month) \(four(year)) \(time) GMT"
    case .rfc850: return "\(weekday), \(day)-\(month)-\(two(year % 100)) \(time) GMT"
    case .asctime:
      let padded = day.hasPrefix("0") ? " " + day.dropFirst() : day
      return "\(weekday.prefix(3)) \(month) \(padded) \(time) \(four(year))"
    }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let weekdays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]

  private static func two(_ value: Int?) -> String { String(String((value ?? 0) + 100).suffix(2)) }

  private static func four(_ value: Int) -> String { String(String(value + 10_000).suffix(4)) }
}
