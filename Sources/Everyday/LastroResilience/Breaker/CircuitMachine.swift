// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A circuit as a pure state machine: the caller supplies times and random numbers.
///
/// ```
/// closed   ─ failure, enough calls, too many failed ─▶ open       generation + 1, as with each change of phase
/// open     ─ asked, its time is over ────────────────▶ halfOpen
/// halfOpen ─ asked, probes left ─────────────────────▶ admitted, else refused
/// halfOpen ─ failure ─▶ open │ all probes succeed ─▶ closed │ ignored ─▶ the probe is given back
/// ```
///
/// An outcome counts only in the generation that admitted its attempt: late outcomes change nothing.
struct CircuitMachine: Sendable, ForgettableMachine {
  enum Phase: Sendable, Hashable {
    case closed
    case open(until: Duration)
    case halfOpen(issued: Int, successes: Int, lastIssue: Duration)
  }

  enum Answer: Sendable, Hashable {
    /// The attempt is admitted, in the generation in which its outcome counts.
    case admitted(UInt64)
    case refused(retryAfter: Duration)
  }

  private(set) var policy: CircuitBreakerPolicy
  private(set) var phase = Phase.closed
  private(set) var generation: UInt64 = 0
  /// The time of the first opening in the current series of breaks.
  private var openedAt = Duration.zero
  /// The number of failures since the last success, and the time at which the first of them ended.
  private var row = (failures: 0, since: Duration.zero)
  private(set) var window: CircuitWindow
  private var lastUse = Duration.zero

  /// The minimum time span of failures that open the circuit. Simultaneous failures, as of one lost connection, count
  /// as one signal.
  private static let shortestRow = Duration.seconds(1)
  /// The divisor that makes a break one twentieth of the outage so far.
  private static let partOfOutage = 20

  init(_ policy: CircuitBreakerPolicy) {
    self.policy = policy
    window = CircuitWindow(policy.window)
  }

  mutating func ask(now: Duration) -> Answer {
    lastUse = now
    switch phase {
    case .closed: return .admitted(generation)
    case .open(let until) where now < until: return .refused(retryAfter: until - now)
    case .open: enter(.halfOpen(issued: 0, successes: 0, lastIssue: now))
    case .halfOpen(let issued, _, let lastIssue):
      // Give up probes that have not reported for a whole break; their late outcomes no longer count.
      if issued == policy.probes, now - lastIssue >= policy.breakDuration {
        enter(.halfOpen(issued: 0, successes: 0, lastIssue: now))
      }
    }
    guard case .halfOpen(let issued, let successes, let lastIssue) = phase else { return .admitted(generation) }
    guard issued < policy.probes else {
      return .refused(retryAfter: max(.zero, lastIssue + policy.breakDuration - now))
    }
    phase = .halfOpen(issued: issued + 1, successes: successes, lastIssue: now)
    return .admitted(generation)
  }

  /// - Parameters:
  ///   - admitted: the generation that admitted the attempt.
  ///   - duration: how long the attempt took.
  ///   - retryAfter: how long the server asks not to be called.
  ///   - unit: a random number from 0 up to 1.
  mutating func end(
    _ admitted: UInt64, _ verdict: AttemptVerdict, duration: Duration, now: Duration, retryAfter: Duration? = nil,
    unit: Double
  ) {
    guard admitted == generation else { return }
    let isSlow = policy.slowCallDuration.map { duration > $0 } ?? false
    switch (phase, verdict) {
    case (.closed, .ignored), (.open, _): break
    case (.closed, _):
      window.add(failed: verdict == .failure, slow: isSlow, now: now)
      countFailuresInRow(verdict, now)
      if verdict == .failure || isSlow, isTooMuch(window.counts(now: now), now) {
        openedAt = now
        open(now, retryAfter, unit)
      }
    case (.halfOpen(let issued, let successes, let lastIssue), .ignored):
      phase = .halfOpen(issued: issued - 1, successes: successes, lastIssue: lastIssue)
    case (.halfOpen(let issued, let successes, let lastIssue), .success) where !isSlow:
      if successes + 1 < policy.probes {
        phase = .halfOpen(issued: issued, successes: successes + 1, lastIssue: lastIssue)
      } else {
        row.failures = 0
        window.clear()
        enter(.closed)
      }
    case (.halfOpen, _): open(now, retryAfter, unit)
    }
  }

  /// Follows other rules from now on. The phase and the counted attempts stay, and a break ends when it would have ended.
  /// With another number of probes, a half-open circuit begins to probe anew, and outcomes of earlier probes do not count.
  mutating func adopt(_ policy: CircuitBreakerPolicy, now: Duration) {
    let probesAnew = policy.probes != self.policy.probes
    self.policy = policy
    window = window.resized(to: policy.window)
    if probesAnew, case .halfOpen = phase { enter(.halfOpen(issued: 0, successes: 0, lastIssue: now)) }
  }

  private mutating func countFailuresInRow(_ verdict: AttemptVerdict, _ now: Duration) {
    guard verdict == .failure else { return row.failures = 0 }
    if row.failures == 0 { row.since = now }
    row.failures += 1
  }

  private func isTooMuch(_ counts: CircuitWindow.Counts, _ now: Duration) -> Bool {
    guard counts.calls >= policy.minimumCalls else { return false }
    if let limit = policy.consecutiveFailures, row.failures >= limit, now - row.since >= Self.shortestRow {
      return true
    }
    return Double(counts.failures) >= policy.failureRatio * Double(counts.calls)
      || policy.slowCallDuration != nil && Double(counts.slow) >= policy.slowCallRatio * Double(counts.calls)
  }

  private mutating func open(_ now: Duration, _ retryAfter: Duration?, _ unit: Double) {
    var length = max(policy.breakDuration, (now - openedAt) / Self.partOfOutage)
    length = min(length * (0.9 + 0.2 * unit), policy.maximumBreakDuration)
    enter(.open(until: now + max(length, min(retryAfter ?? .zero, .seconds(3600)))))
  }

  private mutating func enter(_ next: Phase) {
    phase = next
    generation &+= 1
  }

  var isOpen: Bool { if case .open = phase { true } else { false } }

  func state(now: Duration) -> CircuitState {
    switch phase {
    case .closed: .closed
    case .open(let until): now < until ? .open(left: until - now) : .halfOpen
    case .halfOpen: .halfOpen
    }
  }

  func mayBeForgotten(now: Duration) -> Bool {
    let idle = now - lastUse
    switch phase {
    // Without this limit, an open circuit whose host is never called again would be kept forever.
    case .open(let until): return now > until && idle > .seconds(600)
    case .halfOpen: return idle > max(.seconds(600), policy.maximumBreakDuration * 2)
    case .closed:
      if case .time(let length) = policy.window { return idle > length * 2 }
      return idle > .seconds(600)
    }
  }
}
