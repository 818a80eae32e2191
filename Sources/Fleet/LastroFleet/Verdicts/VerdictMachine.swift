// SPDX-License-Identifier: Apache-2.0

internal import LastroResilience

/// The decisions of one instance about one shared circuit, as a value without a clock, tasks or a store: when to ask the
/// store, what to report, and whether this instance has the turn to probe.
struct VerdictMachine: Sendable, ForgettableMachine {
  /// The time between two exchanges while attempts succeed, and while they fail or the circuit is not closed.
  static let periods = (calm: Duration.seconds(5), tense: Duration.seconds(2))
  /// The time after which an instance that was refused a turn asks again.
  static let turnPause = Duration.seconds(1)

  /// The random name of the instance.
  let instance: String
  /// The last verdict in the store, and whether it is another instance's and later than the reports of this one.
  private var verdict: (value: CircuitVerdict, until: Duration, isNews: Bool)?
  private var report: (value: VerdictRecord.Report, until: Duration)?
  /// The length of the turn that is asked for next.
  private var wanted: Duration?
  /// The end of the turn of this instance, and the time before which it does not ask for one; `nil` for none.
  private var turnUntil: Duration?
  private var otherUntil: Duration?
  private var isExchanging = false
  private var hasFailed = false
  private var lastExchange: Duration?
  /// The time of the next exchange; `nil` if it is due, whatever the time of the caller, who may have read the clock
  /// before another one.
  private var nextExchange: Duration?
  private var lastUse: Duration

  init(instance: String, now: Duration) {
    self.instance = instance
    lastUse = now
  }

  // MARK: Attempts

  /// Records an attempt. Returns the last verdict of another instance.
  ///
  /// - Parameter isClosed: whether the circuit of this instance is closed.
  mutating func attempt(isClosed: Bool, now: Duration) -> CircuitVerdict? {
    lastUse = now
    if !isClosed { expectExchange(after: Self.periods.tense) }
    guard let verdict, verdict.isNews else { return nil }
    let left = max(.zero, verdict.until - now)
    guard verdict.value.isOpen else { return verdict.value }
    return left > .zero ? CircuitVerdict(id: verdict.value.id, isOpen: true, left: left) : nil
  }

  /// Records that an attempt failed.
  mutating func attemptFailed() { expectExchange(after: Self.periods.tense) }

  /// Reports a verdict of this instance. One that has not been reported yet is replaced.
  mutating func report(_ value: VerdictRecord.Report, now: Duration) {
    var until = now + VerdictRecord.longestBreak
    if case .opened(let left) = value { until = now + left }
    report = (value, until)
    // It is earlier than this one, and a closing would end the new break.
    verdict?.isNews = false
    (turnUntil, otherUntil) = (nil, nil)
    expectExchange(after: .zero)
  }

  // MARK: Probes

  /// Asks for the turn to probe. Returns the answer if it is known; if not, the next exchange has it.
  mutating func askTurn(for length: Duration, now: Duration) -> ProbeTurn? {
    // Nobody waits for a store that is lost.
    if hasFailed { return .taken }
    if let turnUntil, now < turnUntil { return .taken }
    if let otherUntil, now < otherUntil { return .other(left: otherUntil - now) }
    wanted = length
    expectExchange(after: .zero)
    return nil
  }

  // MARK: Exchanges

  /// Returns the next exchange with the store if it is due; its end must be reported.
  mutating func exchange(now: Duration) -> VerdictRecord.Request? {
    guard !isExchanging else { return nil }
    if let nextExchange, now < nextExchange { return nil }
    isExchanging = true
    var request = VerdictRecord.Request(instance: instance, turn: wanted, known: verdict?.value.id)
    if let report = report.take() {
      switch report.value {
      case .closed: request.report = .closed
      case .opened: if report.until > now { request.report = .opened(left: report.until - now) }
      }
    }
    wanted = nil
    return request
  }

  /// Reports that an exchange succeeded.
  ///
  /// - Parameters:
  ///   - request: the exchange.
  ///   - start: the time before the store was asked.
  ///   - jitter: a random number from 0 up to 1.
  mutating func exchanged(
    _ request: VerdictRecord.Request, _ reply: VerdictRecord.Reply, start: Duration, now: Duration, jitter: Double
  ) {
    (isExchanging, hasFailed, lastExchange) = (false, false, now)
    nextExchange = now + Self.periods.calm * (0.9 + 0.2 * jitter)
    if reply.turn != nil { wanted = nil }
    if wanted != nil || report != nil { expectExchange(after: .zero) }
    // A verdict of this instance that is on its way is newer.
    if report == nil {
      verdict = reply.verdict.map { ($0, start + min($0.left, VerdictRecord.longestBreak), !reply.isOwn) }
    }
    switch reply.turn {
    case .taken: turnUntil = start + min(request.turn ?? .zero, VerdictRecord.longestTurn)
    case .other(let left): otherUntil = now + min(left, Self.turnPause * (0.8 + 0.4 * jitter))
    case .news, .cancelled, nil: break
    }
  }

  /// Reports that an exchange failed.
  ///
  /// - Parameter isLost: whether the store is lost. If not, other instances were faster each time.
  mutating func failed(
    _ request: VerdictRecord.Request, isLost: Bool, start: Duration, now: Duration, jitter: Double
  ) {
    (isExchanging, hasFailed, lastExchange) = (false, isLost, now)
    nextExchange = now + Self.periods.tense * (0.8 + 0.4 * jitter)
    wanted = nil
    // It is not known whether the store has the report. To report it again does no harm: no verdict is taken over
    // meanwhile, so that a closing still names the circuit that was probed.
    if report == nil, let value = request.report { report(value, now: start) }
  }

  private mutating func expectExchange(after pause: Duration) {
    // A lost store is asked no sooner than planned.
    guard !hasFailed else { return }
    guard pause > .zero else { return nextExchange = nil }
    if let next = nextExchange, let lastExchange { nextExchange = min(next, lastExchange + pause) }
  }

  func mayBeForgotten(now: Duration) -> Bool {
    !isExchanging && report == nil && now - lastUse > VerdictRecord.longestTurn * 10
  }
}
