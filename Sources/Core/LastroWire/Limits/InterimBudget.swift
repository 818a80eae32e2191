// SPDX-License-Identifier: Apache-2.0

/// The interim (1xx) responses that a server may send to one request, in any version of HTTP.
///
/// RFC 9110 §15.2 allows any number of them. Each head is subject to the limits of heads, and each response is charged
/// to a ``PeerBudget``. A hundred per second are free. So is one for each 16 bytes of the request's body that are sent,
/// because servers of resumable uploads report their progress this way.
package struct InterimBudget: Sendable {
  /// The cost of an interim response, in bytes of the request's body.
  private static let cost = 16
  /// The number of head bytes that cost as much as one byte of the request's body, in addition.
  private static let headBytesPerByte = 1_024
  private static let perSecond = 100 * cost
  /// The maximum number of body bytes that may pay in advance, for a server that lags behind.
  private static let advance = 1 << 24

  private var budget = PeerBudget()

  package init() {}

  /// Records that bytes of the request's body were sent.
  package mutating func sent(_ count: Int) { budget.earn(count, upTo: Self.advance) }

  /// Charges one interim response.
  ///
  /// - Parameters:
  ///   - headBytes: the size of its head.
  ///   - limit: the number of responses that the server may send at once without progress. With 0 it may send none.
  ///   - now: in nanoseconds; 0 if there is no clock.
  /// - Returns: whether the budget covers it.
  package mutating func spend(headBytes: Int, limit: Int, now: UInt64) -> Bool {
    guard limit > 0 else { return false }
    let rule = PeerBudget.Rule(burst: min(limit, 1 << 40) * Self.cost, perSecond: Self.perSecond)
    return budget.spend(Self.cost + headBytes / Self.headBytesPerByte, of: rule, now: now)
  }

  /// Returns the error text for too many interim responses.
  package static func excess(_ limit: Int) -> String {
    "the server sent more than \(limit.counted("interim response")) without progress"
  }
}
