// SPDX-License-Identifier: Apache-2.0

/// The budget for hedges: each first try adds a fraction of a token, and each hedge costs one token.
struct HedgeBudget: Sendable, Hashable {
  private let ratio: Double
  private let capacity: Double
  private(set) var tokens: Double

  init(ratio: Double, burst: Int) {
    self.ratio = ratio
    capacity = Double(burst)
    tokens = capacity
  }

  mutating func firstTry() { tokens = min(capacity, tokens + ratio) }

  /// Takes the price of one hedge; returns whether the budget sufficed.
  mutating func pay() -> Bool {
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }
}
