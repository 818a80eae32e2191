// SPDX-License-Identifier: Apache-2.0

/// A budget of bytes or frames that a peer may cost us, refilled by time and by progress.
///
/// Every limit on what a peer may send without end is a budget of this kind, and never a counter over the lifetime of
/// a stream or a connection. The rules, with the budgets, are in `Docs/Wire.md`:
///
/// - Time refills a budget at a steady rate, so that a peer which sends little may do so for ever.
/// - Progress refills it too: bytes of bodies in either direction, and complete responses.
/// - Frames that our own frames provoke are paid for in advance by what we sent.
/// - Frames that a protocol tells us to ignore cost only their bytes.
/// - When a budget is spent, the smallest thing that the peer's fault concerns ends: the stream before the connection.
package struct PeerBudget: Sendable {
  /// The size of a budget, and the rate at which time refills it.
  package struct Rule: Sendable {
    /// The amount that may be spent at once.
    package let burst: Int
    /// The amount that one second gives back.
    package let perSecond: Int
    /// The time that gives one back, in nanoseconds.
    fileprivate let interval: UInt64

    /// - Parameter perSecond: from 1 to 1,000,000,000.
    package init(burst: Int, perSecond: Int) {
      self.burst = burst
      self.perSecond = perSecond
      interval = 1_000_000_000 / UInt64(min(max(1, perSecond), 1_000_000_000))
    }
  }

  /// The amount that was spent and not given back; negative where it was paid for in advance.
  private var spent = 0
  /// The time up to which `spent` was refilled, in nanoseconds.
  private var refilledAt: UInt64 = 0

  /// A full budget.
  package init() {}

  /// Spends an amount.
  ///
  /// - Parameter now: in nanoseconds, of a clock that does not go back. Where it is always 0, time refills nothing.
  /// - Returns: whether the budget covers it.
  package mutating func spend(_ amount: Int, of rule: Rule, now: UInt64) -> Bool {
    refill(rule, now)
    spent += amount
    return spent <= rule.burst
  }

  /// Gives an amount back.
  ///
  /// - Parameter advance: the most that may be paid in advance, beyond the burst. Default 0: a full budget stays full.
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
