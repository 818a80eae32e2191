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
  /// The last verdict of another instance that was taken into account. None is taken into account twice.
  private var heard: UInt64?
  /// Whether the circuit is open because of another instance.
  private(set) var isOpenByOther = false
  /// The time from which this instance probes without regard to others.
  private var ownProbeAt = Duration.zero
  /// The end of the time for which the server asked this instance not to call; `nil` if it did not.
  private var askedUntil: Duration?
  /// The time at which probes closed the circuit; `nil` if they never did.
  private var closedAt: Duration?

  /// The minimum time span of failures that open the circuit. Simultaneous failures, as of one lost connection, count
  /// as one signal.
  private static let shortestRow = Duration.seconds(1)
  /// The divisor that makes a break one twentieth of the outage so far.
  private static let partOfOutage = 20
  /// The number of consecutive failures after which an instance with many attempts obeys another one.
  private static let failuresOfMany = 3

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
        closedAt = now
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
    window = window.resized(to: policy.window, now: now)
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
    let asked = min(retryAfter ?? .zero, .seconds(3600)), length = max(ownBreak(now, unit), asked)
    enter(.open(until: now + length))
    isOpenByOther = false
    askedUntil = asked > .zero ? now + asked : nil
    limitObedience(now, after: length, unit)
  }

  /// Returns the length of the break that the policy chooses.
  private func ownBreak(_ now: Duration, _ unit: Double) -> Duration {
    let length = max(policy.breakDuration, (now - openedAt) / Self.partOfOutage)
    return min(length * (0.9 + 0.2 * unit), policy.maximumBreakDuration)
  }

  private mutating func enter(_ next: Phase) {
    phase = next
    generation &+= 1
  }

  // MARK: Verdicts of other instances

  /// Takes a verdict of another instance into account, once.
  ///
  /// An opening opens a closed circuit if the attempts of this instance do not contradict it, and prolongs the break of
  /// an open one. Neither lasts longer than the break that the policy chooses. A closing lets an open circuit be
  /// probed now, unless the server asked this instance to wait.
  ///
  /// - Parameter unit: a random number from 0 up to 1.
  mutating func hear(_ verdict: CircuitVerdict, now: Duration, unit: Double) {
    guard verdict.id != heard else { return }
    // Those that heard of a break probe a little before the instance that opened it, which may be the one that is broken.
    let rest = verdict.left * (0.9 + 0.1 * unit)
    switch phase {
    case .closed where verdict.isOpen:
      // It may be obeyed later, when attempts fail.
      guard verdict.left > .zero, isPlausible(now) else { return }
      openedAt = now
      let length = min(rest, ownBreak(now, unit))
      enter(.open(until: now + length))
      isOpenByOther = true
      limitObedience(now, after: length, unit)
    case .open(let until) where verdict.isOpen:
      let end = min(now + min(rest, ownBreak(now, unit)), ownProbeAt)
      guard end > until else { break }
      phase = .open(until: end)
      isOpenByOther = true
    case .open where now >= askedUntil ?? now: enter(.halfOpen(issued: 0, successes: 0, lastIssue: now))
    case .open, .closed, .halfOpen: break
    }
    heard = verdict.id
  }

  /// Whether the next attempt is a probe that this instance may send while no other one probes. Probes that have not
  /// ended for a whole break are given up, and their turn has ended, so that the next ones need another.
  func needsTurn(now: Duration) -> Bool {
    switch phase {
    case .closed: false
    case .open(let until): now >= until && now < ownProbeAt
    case .halfOpen(let issued, _, let lastIssue):
      issued == policy.probes && now >= lastIssue + policy.breakDuration
        && now < lastIssue + policy.maximumBreakDuration
    }
  }

  /// Returns whether attempts of this instance agree with an opening: the last ones failed, or there are none.
  private func isPlausible(_ now: Duration) -> Bool {
    let calls = window.counts(now: now).calls
    if calls >= policy.minimumCalls { return row.failures >= Self.failuresOfMany }
    if calls > 0 { return row.failures > 0 }
    var length = Duration.seconds(30)
    if case .time(let own) = policy.window { length = own }
    return closedAt.map { now - $0 >= length } ?? true
  }

  /// Limits the time for which verdicts of others keep this instance from probing after its break, to the longest break
  /// of the policy. Instances that opened together reach the limit at different times.
  private mutating func limitObedience(_ now: Duration, after length: Duration, _ unit: Double) {
    ownProbeAt = now + length + max(.zero, policy.maximumBreakDuration - length) * (0.5 + 0.5 * unit)
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
