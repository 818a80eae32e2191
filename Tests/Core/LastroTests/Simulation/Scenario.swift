// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport

@testable import Lastro

/// A simulated call drawn from a seed: the request, its caller, and the rules. The server's answers are drawn request
/// by request (``SimulatedAnswer``).
struct Scenario: Sendable {
  enum Body: CaseIterable { case none, bytes, oneShot, replayable }

  enum Policy: Sendable {
    case standard(attempts: Int)
    case retries(Int)
    case backoff(delay: Double, retries: Int)
    case growing(base: Double, budget: Double)
    /// A policy that retries forever, after the given delays.
    case malicious([Double])
  }

  enum Guest: Sendable {
    case policy(Policy, isBare: Bool)
    /// Hooks that take time, hang or cancel, and that replay after a 401.
    case hooks(waits: Bool)
  }

  struct Quota {
    var capacity: Int
    var cost: Int
    var throttledCost: Int
    /// The number of tokens that others have spent before.
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
  /// The index of the sleep in which the caller cancels.
  let cancelledSleep: Int?
  /// The percentage of answers with status 200.
  let health: Int
  /// Whether hooks or callers may hang or cancel.
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

  /// Whether the request may be sent twice. Derived from the specification, and not from the code under test.
  var isIdempotent: Bool {
    switch idempotency {
    case .idempotent, .generatedKey, .key: true
    case .notIdempotent: false
    case .byMethod: hasKeyField || [.get, .head, .put, .delete, .options].contains(method)
    }
  }

  /// The maximum number of attempts under all rules. A policy within a `RetryInterceptor` counts only the failures that
  /// it is asked about, so it is a bound only if every guest is such a policy.
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

/// Random choices from a seed: the same seed yields the same choices.
struct Dice: Sendable {
  let random: RandomSource

  init(_ seed: UInt64) { random = .seeded(seed &* 0x9E37_79B9_7F4A_7C15 &+ 1) }

  func int(_ range: ClosedRange<Int>) -> Int {
    range.lowerBound + Int(random.next() % UInt64(range.count))
  }

  func chance(_ percent: Int) -> Bool { int(1...100) <= percent }

  func pick<T>(_ values: [T]) -> T { values[int(0...values.count - 1)] }

  func seconds(_ range: ClosedRange<Double>) -> Double {
    range.lowerBound + random.unit() * (range.upperBound - range.lowerBound)
  }

  /// Returns a random duration in whole milliseconds.
  func milliseconds(_ range: ClosedRange<Int>) -> Duration { .milliseconds(int(range)) }

  /// Returns separate dice for one part, so that draws of another part do not affect it.
  func part(_ number: Int) -> Dice { Dice(random.next() ^ UInt64(truncatingIfNeeded: number)) }
}

/// The simulated server's behavior for one request.
struct SimulatedAnswer {
  enum Kind {
    case status(Int)
    case redirect(Int, String)
    case failure(FailureStage, FailureCode, sent: Bool)
    case hang
  }

  var kind: Kind
  var latency: Duration
  var opensBody: Bool
  var cancelsCaller: Bool
  private let dice: Dice

  private static let failures: [(FailureStage, FailureCode, Bool?)] = [
    (.resolve, .hostNotFound, false), (.connect, .connectFailed, false), (.proxy, .proxyConnectFailed, false),
    (.proxy, .proxyRefused, false), (.tls, .handshakeFailed, false), (.tls, .hostMismatch, false),
    (.trust, FailureCode("pin_mismatch"), false), (.timeout, .connectTimeout, false), (.timeout, .idleTimeout, nil),
    (.timeout, .attemptTimeout, nil), (.timeout, .totalTimeout, nil), (.send, .sendFailed, nil),
    (.response, .connectionLost, true), (.response, .malformedResponse, true), (.response, .truncatedBody, true),
    (.response, .http2Failure, nil), (.limit, .bodyTooLarge, true), (.limit, .queueFull, false),
    (.cancelled, .shutDown, nil), (.request, .invalidOption, false), (.redirect, .redirectLoop, true),
    (.decode, .undecodable, true), (.send, .engineFailure, nil),
  ]

  init(_ scenario: Scenario, index: Int) {
    dice = Dice(scenario.seed &* 10_007 &+ UInt64(index) &+ 77)
    latency = dice.chance(80) ? dice.milliseconds(0...1_500) : dice.milliseconds(0...40_000)
    opensBody = dice.chance(60)
    cancelsCaller = scenario.isRough && dice.chance(2)
    switch dice.int(0...99) {
    case ..<scenario.health: kind = .status(dice.pick([200, 200, 200, 204, 299]))
    case 96... where scenario.isRough: kind = .hang
    case 85...:
      kind = .redirect(
        dice.pick([301, 302, 303, 307, 308]), (dice.chance(60) ? "" : "https://other.example") + "/r\(index)")
    case 60...:
      let (stage, code, sent) = dice.pick(Self.failures)
      kind = .failure(stage, code, sent: sent ?? dice.chance(60))
    default:
      kind = .status(
        dice.pick([300, 400, 401, 401, 404, 407, 408, 408, 409, 421, 425, 429, 429, 429, 500, 500, 502, 503, 503, 504]))
    }
  }

  /// Returns fields that ask for patience, and the date, since 1970, before which no client may retry.
  func patience(now: Duration) -> (fields: HTTPFields, until: Duration?) {
    var fields = HTTPFields()
    let here = now.components.seconds
    let wait = dice.chance(85) ? dice.int(0...12) : dice.int(0...200)
    let skew = Int64(dice.pick([0, 0, -3_000, 86_400 * 400]))
    let hasDate = dice.chance(60)
    let date = hasDate ? WrittenDate.text(here + skew, dice.pick(WrittenDate.Format.allCases)) : nil
    switch dice.int(0...9) {
    case 0...3: return (fields, nil)
    case 4, 5:
      fields[.retryAfter] = "\(wait)"
      fields[.date] = date
      return (fields, now + .seconds(wait))
    case 6, 7:
      fields[.date] = date ?? (dice.chance(30) ? "garbage" : nil)
      fields[.retryAfter] = WrittenDate.text(
        here + (hasDate ? skew : 0) + Int64(wait), dice.pick(WrittenDate.Format.allCases))
      // Without the server's clock, the date itself counts.
      return (fields, hasDate ? now + .seconds(wait) : .seconds(here + Int64(wait)))
    case 8:
      let second = dice.int(0...12)
      for value in ["\(wait)", "nonsense", "\(second)"] { fields.append(HTTPField(name: .retryAfter, value: value)) }
      return (fields, now + .seconds(max(wait, second)))
    default:
      fields[.retryAfter] = dice.pick(["", "-1", "soon", "1.5", "Sun, 99 Nov 2026 00:00:00 GMT", "+7", "\u{e9}"])
      return (fields, nil)
    }
  }
}

/// A clock for one simulated call. Sleeps and slow hooks advance it, but never past a watched limit before that limit
/// has been noticed.
final class SimulatedClock: Sendable {
  /// The clock's start: 2026-01-01 00:00:00.25 UTC. The fraction makes rounding errors visible.
  static let epoch = Duration.seconds(1_767_225_600) + .milliseconds(250)

  private let clock = ManualClock(autoAdvance: true)
  /// Closures that release tasks which hang until the call is over; `nil` once it is over.
  private let hanging = Lock<[@Sendable () -> Void]?>([])
  /// A closure that is called when a sleep begins, with the sleep's index.
  private let onSleep: @Sendable (Int) -> Void

  init(onSleep: @escaping @Sendable (Int) -> Void = { _ in }) { self.onSleep = onSleep }

  var now: Duration { clock.now }
  var sleeps: [Duration] { clock.sleeps }
  var isClosed: Bool { hanging.withLock { $0 == nil } }

  var source: TimeSource {
    TimeSource(
      now: { self.now },
      sleep: {
        self.onSleep(self.clock.sleeps.count)
        try await self.clock.sleep($0)
      },
      limit: { try await self.clock.waitForLimit($0) }, sinceEpoch: { Self.epoch + self.now })
  }

  func advance(by duration: Duration) { clock.advance(by: duration) }

  /// Lets time pass in a hook.
  ///
  /// - Parameters:
  ///   - duration: the time to pass; `nil` for forever, which needs a limit.
  ///   - isLimited: whether the wait for the hook has a limit.
  ///   - isCancellable: whether a cancellation ends the hook.
  /// - Returns: false if the limit passed first.
  func elapse(_ duration: Duration?, isLimited: Bool, isCancellable: Bool) async -> Bool {
    guard isLimited else {
      advance(by: duration ?? .zero)
      return true
    }
    // Another task watches the limit, from about the same time on. A hook may ignore its cancellation.
    let limits = Task { try? await clock.waitForLimits(count: 1, within: nil) }
    letGoAtEnd { limits.cancel() }
    await limits.value
    let limit = clock.nextLimit
    if let duration, let limit, now + duration < limit {
      advance(by: duration)
      return true
    }
    if let limit { advance(by: limit - now) }
    await hang(isCancellable: isCancellable)
    return false
  }

  /// Suspends until the clock is closed, or until the task is cancelled if `isCancellable` is set.
  func hang(isCancellable: Bool) async {
    let (never, hold) = AsyncStream.makeStream(of: Void.self)
    letGoAtEnd { hold.finish() }
    if isCancellable {
      for await _ in never {}
    } else {
      await Task { for await _ in never {} }.value
    }
  }

  /// Calls a closure when the call is over, or at once if it already is.
  private func letGoAtEnd(_ letGo: @escaping @Sendable () -> Void) {
    let isClosed = hanging.withLock { hanging in
      hanging?.append(letGo)
      return hanging == nil
    }
    if isClosed { letGo() }
  }

  /// Releases all hanging tasks, because the call is over.
  func close() {
    let hanging = hanging.withLock { hanging in
      defer { hanging = nil }
      return hanging
    }
    for letGo in hanging ?? [] { letGo() }
  }
}
