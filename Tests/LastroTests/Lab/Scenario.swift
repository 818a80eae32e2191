// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes

@testable import Lastro

/// One call of the laboratory, drawn from a seed: what is asked, by whom, under which rules. What the server does is
/// drawn request by request (``LabAnswer``).
struct Scenario: Sendable {
  enum Body: CaseIterable { case none, bytes, oneShot, replayable }

  enum Policy: Sendable {
    case standard(attempts: Int)
    case retries(Int)
    case backoff(delay: Double, retries: Int)
    case growing(base: Double, budget: Double)
    /// Says retry for ever, after such delays.
    case malicious([Double])
  }

  enum Guest: Sendable {
    case policy(Policy, isBare: Bool)
    /// Takes time, hangs, cancels; replays after a 401.
    case hooks(waits: Bool)
  }

  struct Quota {
    var capacity: Int
    var cost: Int
    var throttledCost: Int
    /// Spent by others before.
    var spent: Int
  }

  let seed: UInt64
  let method: HTTPRequest.Method
  let idempotency: RequestOptions.Idempotency
  let hasKeyField: Bool
  let body: Body
  let total: Duration?
  let attempt: Duration?
  let maximumRetryAfter: Duration
  let maximumAttempts: Int
  let quota: Quota?
  let guests: [Guest]
  /// Whether a closure that may wait, throw and hang makes the request.
  let makerWaits: Bool
  let usesCallback: Bool
  let isCancelledBefore: Bool
  /// The sleep in which the caller cancels.
  let cancelledSleep: Int?
  /// Of a hundred answers, how many are 200.
  let health: Int
  /// Whether anybody ever hangs or cancels.
  let isRough: Bool

  init(seed: UInt64) {
    let dice = Dice(seed)
    self.seed = seed
    method = dice.pick([.get, .get, .get, .head, .put, .delete, .options, .post, .post, .patch])
    idempotency = dice.pick([
      .byMethod, .byMethod, .byMethod, .idempotent, .notIdempotent, .generatedKey, .generatedKey, .key("key-\(seed)"),
    ])
    hasKeyField = dice.chance(10)
    body = [.get, .head, .options].contains(method) ? .none : dice.pick(Body.allCases)
    total = dice.chance(75) ? .milliseconds(dice.int(500...90_000)) : nil
    let part = Duration.milliseconds(dice.int(200...8_000))
    attempt = dice.chance(50) ? total.map { min($0, part) } ?? part : nil
    maximumRetryAfter = dice.pick([.seconds(60), .seconds(60), .seconds(5), .zero, .seconds(100_000)])
    guests = (0..<dice.int(1...4)).map { _ in Self.guest(dice) }
    let isEndless = guests.contains { if case .policy(.malicious, _) = $0 { true } else { false } }
    maximumAttempts = isEndless || dice.chance(30) ? dice.int(1...14) : 1000
    quota =
      dice.chance(60)
      ? {
        let capacity = dice.pick([500, 100, 40, 14, 1])
        return Quota(
          capacity: capacity, cost: dice.pick([14, 14, 3, 0]), throttledCost: dice.pick([5, 5, 1, 0]),
          spent: dice.chance(50) ? dice.int(0...capacity) : 0)
      }() : nil
    makerWaits = dice.chance(30)
    usesCallback = dice.chance(50)
    isRough = dice.chance(50)
    isCancelledBefore = isRough && dice.chance(3)
    cancelledSleep = isRough && dice.chance(10) ? dice.int(0...3) : nil
    health = dice.pick([0, 5, 20, 40, 70])
  }

  private static func guest(_ dice: Dice) -> Guest {
    if dice.chance(35) { return .hooks(waits: dice.chance(70)) }
    return .policy(policy(dice), isBare: dice.chance(35))
  }

  private static func policy(_ dice: Dice) -> Policy {
    switch dice.int(0...9) {
    case 0...4: .standard(attempts: dice.int(1...6))
    case 5: .retries(dice.int(0...6))
    case 6: .backoff(delay: dice.pick([0, 0.1, 1, 7.5]), retries: dice.int(0...6))
    case 7: .growing(base: dice.pick([0.05, 1, 3]), budget: dice.pick([0, 1, 10, 40]))
    default: .malicious([dice.pick([0, -1, .nan, .infinity, -.infinity, 1e-12, 0.5, 3]), dice.pick([0, 0.01, 2])])
    }
  }

  /// Whether the request may be sent twice, by what the issue says and not by the code under test.
  var isIdempotent: Bool {
    switch idempotency {
    case .idempotent, .generatedKey, .key: true
    case .notIdempotent: false
    case .byMethod: hasKeyField || [.get, .head, .put, .delete, .options].contains(method)
    }
  }

  /// Most attempts that anybody allows; a policy that is no interceptor's own counts only failures it is asked about.
  var allowedAttempts: Int {
    var bound = maximumAttempts
    let everyCounts = guests.allSatisfy {
      switch $0 {
      case .policy(.malicious, _), .hooks: false
      case .policy(_, let isBare): !isBare
      }
    }
    for case .policy(let policy, let isBare) in guests where isBare || everyCounts {
      switch policy {
      case .standard(let attempts): bound = min(bound, attempts)
      case .retries(let retries), .backoff(_, let retries): bound = min(bound, retries + 1)
      case .growing, .malicious: break
      }
    }
    return bound
  }
}

extension Scenario.Policy {
  func made(_ seed: UInt64) throws -> HTTPRetryPolicy {
    switch self {
    case .standard(let attempts):
      let dice = Dice(seed)
      return try .standard(
        attempts: attempts, baseDelay: .seconds(dice.seconds(0...1)), throttledBaseDelay: .seconds(dice.seconds(0...3)),
        cap: .seconds(dice.seconds(0...30)), random: dice.random)
    case .retries(let retries): return .maxRetries(retries)
    case .backoff(let delay, let retries):
      return .backoff(.constant(delay: .seconds(delay), until: .maxRetries(retries)))
    case .growing(let base, let budget):
      return .backoff(
        .exponential(
          baseDelay: .seconds(base), scale: Retry.Backoff.fullJitter(random: .seeded(seed)),
          until: .budget(.seconds(budget))))
    case .malicious(let delays):
      return .custom { _, state, _ in .retryAfter(Retry.seconds(delays[state.retryCount % delays.count])) }
    }
  }
}
