// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// The state that the hedges of one key share: the latency of first tries, and the budget.
struct HedgingMachine: Sendable, ForgettableMachine {
  static let minimumSamples = 50
  static let shortestDelay = Duration.milliseconds(10)

  let policy: HedgingPolicy
  /// The budget for hedges: each first try adds a fraction of a token, and each hedge costs one token.
  private(set) var tokens: Double
  private var histogram = LatencyHistogram()
  private var lastUse = Duration.zero

  init(_ policy: HedgingPolicy) {
    self.policy = policy
    tokens = Double(policy.budgetBurst)
  }

  /// Records that a first try is sent.
  ///
  /// - Parameter left: the time left for the attempt; `nil`: no limit.
  /// - Returns: the delay before a hedge; `nil` if there will be none.
  mutating func recordFirstTry(now: Duration, left: Duration?) -> Duration? {
    lastUse = now
    tokens = min(Double(policy.budgetBurst), tokens + policy.budgetRatio)
    return delay(now: now, left: left)
  }

  mutating func delay(now: Duration, left: Duration?) -> Duration? {
    let delay: Duration?
    switch policy.delay {
    case .fixed(let fixed): delay = fixed
    case .percentile(let share, let fallback):
      delay = histogram.percentile(share, minimum: Self.minimumSamples, now: now) ?? fallback
    }
    return delay.map { delay in
      let delay = max(delay, Self.shortestDelay)
      return left.map { min(delay, max(.zero, $0 / 4)) } ?? delay
    }
  }

  /// Records the latency of a first try. Hedges are not sampled: they would shorten the delay that triggers them.
  mutating func firstTryEnded(after latency: Duration, now: Duration) { histogram.add(latency, now: now) }

  /// Takes the price of one hedge; returns whether the budget sufficed.
  mutating func pay() -> Bool {
    guard tokens >= 1 else { return false }
    tokens -= 1
    return true
  }

  func mayBeForgotten(now: Duration) -> Bool { now - lastUse > LatencyHistogram.half * 2 }
}

extension HedgingPolicy {
  /// Whether two copies of a request may be in flight at once: the method is safe, the body is small, the request may
  /// be resent and no observer follows the transfer.
  static func mayHedge(_ request: TransferRequest) -> Bool {
    guard case .collected = request.delivery, request.allowsResend else { return false }
    guard request.progress == nil, request.onInterimResponse == nil else { return false }
    let method = request.head.method
    guard [.get, .head, .options].contains(method) || method.rawValue == "QUERY" else { return false }
    // Servers handle concurrent requests with the same idempotency key particularly badly.
    guard request.head.headerFields[.idempotencyKey] == nil else { return false }
    switch request.body.source {
    case .empty: return true
    case .bytes(let bytes): return bytes.count <= 64 * 1024
    case .file(_, let length): return length <= 64 * 1024
    case .stream: return false
    }
  }
}
