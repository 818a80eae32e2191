// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LastroWire

@Suite("Budgets for the cost of a peer")
struct PeerBudgetTests {
  private static let second: UInt64 = 1_000_000_000
  private static let rule = PeerBudget.Rule(burst: 10, perSecond: 4)

  /// Returns how many units can be spent at once.
  private func count(_ budget: inout PeerBudget, at now: UInt64 = 0) -> Int {
    var copy = budget
    var count = 0
    while count < 1_000, copy.spend(1, of: Self.rule, now: now) {
      budget = copy
      count += 1
    }
    return count
  }

  @Test("Time refills a budget at its rate, up to the burst")
  func time() {
    var budget = PeerBudget()
    #expect(count(&budget, at: 5) == 10)
    #expect(count(&budget, at: Self.second / 4 + 4) == 0)
    #expect(count(&budget, at: Self.second / 4 + 5) == 1)
    #expect(count(&budget, at: Self.second * 5 / 4 + 5) == 4)
    #expect(count(&budget, at: .max) == 10)
  }

  @Test("Time that comes in small steps refills as much as in one")
  func steps() {
    var budget = PeerBudget()
    #expect(count(&budget, at: 1) == 10)
    var refilled = 0
    for step in 1...300 { refilled += count(&budget, at: 1 + UInt64(step) * Self.second / 100) }
    #expect(refilled == 12)
  }

  @Test("Progress refills a budget, and pays in advance only up to its limit")
  func progress() {
    var budget = PeerBudget()
    budget.earn(5)
    #expect(count(&budget) == 10)
    budget.earn(3)
    #expect(count(&budget) == 3)
    budget.earn(100, upTo: 7)
    #expect(count(&budget) == 17)
    budget.earn(100, upTo: 7)
    // An advance payment remains when time passes, or when progress of the other kind arrives.
    budget.earn(1)
    #expect(count(&budget, at: Self.second) == 17)
  }

  @Test("A server may send some interim responses at once, a hundred a second, and one for each 16 bytes of a body")
  func interims() {
    var budget = InterimBudget()
    func count(at now: UInt64) -> Int {
      var count = 0
      while count < 100_000, budget.spend(headBytes: 100, limit: 32, now: now) { count += 1 }
      return count
    }
    #expect(count(at: 1) == 32)
    budget = InterimBudget()
    for step in 1...1_000 {
      let isAllowed = budget.spend(headBytes: 100, limit: 32, now: UInt64(step) * Self.second / 100)
      #expect(isAllowed)
    }
    budget = InterimBudget()
    budget.sent(160_000)
    #expect(count(at: 1) == 10_032)
    let isAllowed = budget.spend(headBytes: 100, limit: 0, now: .max)
    #expect(!isAllowed)
  }
}
