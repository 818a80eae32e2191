// SPDX-License-Identifier: Apache-2.0

/// What pays for hedges: a little from each first try, and a hedge costs one.
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

  /// Whether there was enough to pay for one.
  mutating func pay() -> Bool {
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }
}
