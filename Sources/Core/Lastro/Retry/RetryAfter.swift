// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
private import LastroWire

/// The parser of `Retry-After` (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// The longest wait, in seconds: some thirty years. Longer waits are reduced to it.
  private static let longest: Int64 = 1_000_000_000

  /// Returns the wait that a response asks for; `nil` if it asks for none. A date in the past and an unreadable value
  /// ask for none.
  ///
  /// - Parameters:
  ///   - fields: the response's fields. A date is compared with the response's own `Date`, so that the clocks need not
  ///     agree.
  ///   - sinceEpoch: the current date, used if the response has no `Date`.
  package static func wait(_ fields: HTTPFields, sinceEpoch: @Sendable () -> Duration) -> Duration? {
    let values = fields[values: .retryAfter]
    guard !values.isEmpty else { return nil }
    // Use the longest of several waits, so that none is violated.
    return values.flatMap(parts).compactMap { seconds($0, fields, sinceEpoch) }.max().flatMap {
      $0 > 0 ? .seconds($0) : nil
    }
  }

  /// Returns the values that a proxy may have joined into one field. A date is not split, because it contains a comma.
  private static func parts(of value: String) -> [String] {
    guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2C || $0 == 0x20 }) else { return [value] }
    return value.split(separator: ",").map { String($0.withoutBlanks) }
  }

  private static func seconds(_ value: String, _ fields: HTTPFields, _ sinceEpoch: @Sendable () -> Duration) -> Int64? {
    if !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return min(Int64(value) ?? longest, longest)
    }
    // Limit the local clock to dates that HTTP can express.
    let here = min(max(sinceEpoch(), .zero), .seconds(HTTPDate.lastSecond)).components.seconds
    guard let date = HTTPDate.seconds(value, now: here) else { return nil }
    let now = fields[.date].flatMap { HTTPDate.seconds($0, now: here) } ?? here
    return min(max(date - now, 0), longest)
  }
}
