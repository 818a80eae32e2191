// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
private import LastroWire

/// How long a server asks to wait (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// The longest wait that is told from for ever: some thirty years.
  private static let longest: Int64 = 1_000_000_000

  /// The wait that an answer asks for; `nil` where it asks for none. A date in the past, and one without a meaning, ask
  /// for none.
  ///
  /// - Parameters:
  ///   - fields: the answer's fields. A date counts from the answer's own `Date`, so that the clocks need not agree.
  ///   - sinceEpoch: the date, where the answer has none.
  package static func wait(_ fields: HTTPFields, sinceEpoch: @Sendable () -> Duration) -> Duration? {
    let values = fields[values: .retryAfter]
    guard !values.isEmpty else { return nil }
    // Of several, the longest: none of them is to be undercut.
    return values.flatMap(parts).compactMap { seconds($0, fields, sinceEpoch) }.max().flatMap {
      $0 > 0 ? .seconds($0) : nil
    }
  }

  /// Proxies join fields of one name; a date has a comma of its own.
  private static func parts(of value: String) -> [String] {
    guard value.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2C || $0 == 0x20 }) else { return [value] }
    return value.split(separator: ",").map { part in
      let rest = part.drop { $0 == " " }
      return String(rest.prefix(rest.count - rest.reversed().prefix { $0 == " " }.count))
    }
  }

  private static func seconds(_ value: String, _ fields: HTTPFields, _ sinceEpoch: @Sendable () -> Duration) -> Int64? {
    if !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      return min(Int64(value) ?? longest, longest)
    }
    // A clock that says otherwise is not one to reckon with.
    let here = min(max(sinceEpoch(), .zero), .seconds(HTTPDate.lastSecond)).components.seconds
    guard let date = HTTPDate.seconds(value, now: here) else { return nil }
    let now = fields[.date].flatMap { HTTPDate.seconds($0, now: here) } ?? here
    return min(max(date - now, 0), longest)
  }
}
