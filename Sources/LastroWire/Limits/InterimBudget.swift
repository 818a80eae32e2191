// SPDX-License-Identifier: Apache-2.0

/// The interim (1xx) responses that a server may send to one request, in either version of HTTP.
///
/// RFC 9110 §15.2 allows any number of them. Each head has the limits of a head, and each costs some of a
/// ``PeerBudget``. A hundred a second are free, and so is one for each 16 bytes of the request's body that are sent:
/// servers of resumable uploads report their progress so.
package struct InterimBudget: Sendable {
  /// The cost of one interim response, in bytes of the request's body.
  private static let cost = 16
  /// Bytes of a head that cost as much as a byte of the request's body, beside that.
  private static let headBytesPerByte = 1_024
  private static let perSecond = 100 * cost
  /// The most bytes of the request's body that may pay in advance, for a server that lags behind.
  private static let advance = 1 << 24

  private var budget = PeerBudget()

  package init() {}

  /// Bytes of the request's body were sent.
  package mutating func sent(_ count: Int) { budget.earn(count, upTo: Self.advance) }

  /// Spends what one interim response costs.
  ///
  /// - Parameters:
  ///   - headBytes: the size of its head.
  ///   - limit: how many the server may send at once without progress. With 0 it may send none.
  ///   - now: in nanoseconds; 0 where there is no clock.
  /// - Returns: whether the budget covers it.
  package mutating func spend(headBytes: Int, limit: Int, now: UInt64) -> Bool {
    guard limit > 0 else { return false }
    let rule = PeerBudget.Rule(burst: min(limit, 1 << 40) * Self.cost, perSecond: Self.perSecond)
    return budget.spend(Self.cost + headBytes / Self.headBytesPerByte, of: rule, now: now)
  }

  /// The text of the error for a server that sends too many.
  package static func excess(_ limit: Int) -> String {
    "the server sent more than \(limit.counted("interim response")) without progress"
  }
}
