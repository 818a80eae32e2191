// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro

/// What the hedges of one key have in common: how long first tries take, and what pays.
struct HedgingMachine: Sendable, ForgettableMachine {
  static let minimumSamples = 50
  static let shortestDelay = Duration.milliseconds(10)

  let policy: HedgingPolicy
  private(set) var budget: HedgeBudget
  private var histogram = LatencyHistogram()
  private var lastUse = Duration.zero

  init(_ policy: HedgingPolicy) {
    self.policy = policy
    budget = HedgeBudget(ratio: policy.budgetRatio, burst: policy.budgetBurst)
  }

  /// A first try is sent.
  ///
  /// - Parameter left: how long the attempt may take; `nil` for ever.
  /// - Returns: how long it has to itself; `nil` where there will be no hedge.
  mutating func begin(now: Duration, left: Duration?) -> Duration? {
    lastUse = now
    budget.firstTry()
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

  /// A first try has been answered. Hedges are no samples: they would shorten what triggers them.
  mutating func firstTryEnded(after latency: Duration, now: Duration) { histogram.add(latency, now: now) }

  mutating func pay() -> Bool { budget.pay() }

  func mayBeForgotten(now: Duration) -> Bool { now - lastUse > LatencyHistogram.half * 2 }
}

extension HedgingPolicy {
  /// Whether a request may be under way twice at once: safe methods with a small body, where the request may be sent
  /// again, and where it is not watched how the one transfer goes.
  static func mayHedge(_ request: TransferRequest) -> Bool {
    guard case .collected = request.delivery, request.allowsResend else { return false }
    guard request.progress == nil, request.onInterimResponse == nil else { return false }
    let method = request.head.method
    guard [.get, .head, .options].contains(method) || method.rawValue == "QUERY" else { return false }
    // Two copies at once is what servers take such keys worst.
    guard request.head.headerFields[.idempotencyKey] == nil else { return false }
    switch request.body.source {
    case .empty: return true
    case .bytes(let bytes): return bytes.count <= 64 * 1024
    case .file(_, let length): return length <= 64 * 1024
    case .stream: return false
    }
  }
}
