// SPDX-License-Identifier: Apache-2.0

/// A budget of bytes or frames that a peer may cost us, refilled by time and by progress.
///
/// Every limit on traffic that a peer may send without end is a budget of this kind, and never a counter over the
/// lifetime of a stream or a connection. The rules, with the budgets, are in `Docs/Wire.md`:
///
/// - Time refills a budget at a steady rate, so that a peer that sends little may do so forever.
/// - Progress refills it too: bytes of bodies in either direction, and complete responses.
/// - Frames that our own frames provoke are paid for in advance when we send.
/// - Frames that a protocol requires us to ignore cost only their bytes.
/// - When a budget is spent, the smallest affected unit is ended: the stream before the connection.
package struct PeerBudget: Sendable {
  /// The size of a budget, and the rate at which time refills it.
  package struct Rule: Sendable {
    /// The amount that may be spent at once.
    package let burst: Int
    /// The amount that is refilled per second.
    package let perSecond: Int
    /// The time that refills one unit, in nanoseconds.
    fileprivate let interval: UInt64

    /// Creates a rule.
    ///
    /// - Parameter perSecond: from 1 to 1,000,000,000.
    package init(burst: Int, perSecond: Int) {
      self.burst = burst
      self.perSecond = perSecond
      interval = 1_000_000_000 / UInt64(min(max(1, perSecond), 1_000_000_000))
    }
  }

  /// The amount that has been spent and not refilled; negative if it was paid for in advance.
  private var spent = 0
  /// The time up to which `spent` was refilled, in nanoseconds.
  private var refilledAt: UInt64 = 0

  /// Creates a full budget.
  package init() {}

  /// Spends an amount.
  ///
  /// - Parameter now: in nanoseconds on a monotonic clock. If it is always 0, time refills nothing.
  /// - Returns: whether the budget covers the amount.
  package mutating func spend(_ amount: Int, of rule: Rule, now: UInt64) -> Bool {
    refill(rule, now)
    spent += amount
    return spent <= rule.burst
  }

  /// Refills the budget.
  ///
  /// - Parameter advance: the maximum that may be paid in advance, beyond the burst. Default 0: a full budget stays
  ///   full.
  package mutating func earn(_ amount: Int, upTo advance: Int = 0) {
    spent = min(spent, max(spent - amount, -advance))
  }

  private mutating func refill(_ rule: Rule, _ now: UInt64) {
    guard now > refilledAt else { return }
    let earned = spent > 0 ? (now - refilledAt) / rule.interval : 0
    if spent > 0, earned < UInt64(spent) {
      spent -= Int(earned)
      refilledAt += earned * rule.interval
    } else {
      spent = min(spent, 0)
      refilledAt = now
    }
  }
}
