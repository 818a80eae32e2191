// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials

extension Date {
  /// The date as in RFC 3339, in UTC, to the second.
  package var inCalendar: String { timeIntervalSince1970.isFinite ? formatted(.iso8601) : "never" }
}

extension Duration {
  /// The duration in a suitable unit, with three decimals at most: `1.25 s`, `830 ms`.
  package var brief: String {
    let seconds = inSeconds
    let (value, unit) = abs(seconds) < 1 ? (seconds * 1_000, "ms") : (seconds, "s")
    let thousandths = (value * 1_000).rounded()
    guard abs(thousandths) < 1e15 else { return "\(value) \(unit)" }
    let whole = Int64(thousandths)
    var fraction = String((whole.magnitude % 1_000) + 1_000).dropFirst()
    while fraction.last == "0" { fraction = fraction.dropLast() }
    let sign = whole < 0 ? "-" : ""
    return "\(sign)\(whole.magnitude / 1_000)" + (fraction.isEmpty ? "" : ".\(fraction)") + " \(unit)"
  }
}
