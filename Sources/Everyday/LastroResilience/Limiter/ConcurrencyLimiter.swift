// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Limits how many attempts to a server are in flight at once, and adapts the limit to the server.
///
/// Each key has its own limit, up to 10,000 keys. Share one limiter among stacks that call the same servers. It may be
/// used from any thread.
///
/// ```swift
/// let limiter = try ConcurrencyLimiter()
/// var configuration = StackConfiguration()
/// configuration.resilience = Resilience(limiter: limiter)
/// ```
public final class ConcurrencyLimiter: Sendable {
  /// The state of a limiter for one key.
  package struct Snapshot: Sendable, Hashable {
    /// The maximum number of attempts in flight.
    package let limit: Int
    /// The number of attempts in flight.
    package let inUse: Int
    /// The number of attempts in the queue.
    package let waiting: Int
  }

  typealias Place = KeyedMachines<LimiterMachine>.Place

  /// The rules that all keys follow.
  private struct Rules {
    var algorithm: ConcurrencyAlgorithm
    var queueCapacity: Int
    var maximumWait: Duration
  }

  private struct State {
    var rules: Rules
    var machines: KeyedMachines<LimiterMachine>
    var waiters: [Waiter: OneAnswer<LimiterMachine.Grant?>] = [:]

    /// Gives a permit to a queued attempt; returns the task to resume, if it waits already.
    mutating func settle(
      _ waiter: Waiter, _ grant: LimiterMachine.Grant
    ) -> OneAnswer<LimiterMachine.Grant?>.Waiter? {
      waiters.removeValue(forKey: waiter)?.settle(grant).waiter
    }
  }

  fileprivate struct Waiter: Hashable {
    var place: Place
    var ticket: UInt64
  }

  /// The immediate result of asking for a permit.
  enum Admission {
    case admitted(Place, LimiterMachine.Grant)
    case waits(Wait)
  }

  /// A place in the queue.
  struct Wait {
    fileprivate let waiter: Waiter
    fileprivate let answer: OneAnswer<LimiterMachine.Grant?>
    fileprivate let limit: Duration
  }

  let keyRule: ResilienceKeyRule
  /// The algorithm that sets the limit.
  package var algorithm: ConcurrencyAlgorithm { state.withLock { $0.rules.algorithm } }
  private let time: TimeSource
  private let state: Lock<State>

  /// Creates a limiter with a fixed limit.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of attempts in flight per key: 1 to 1,000,000.
  ///   - queueCapacity: the maximum number of waiting attempts per key; 0 disables the queue. Default 100.
  ///   - maximumWait: the longest time that an attempt waits. Default 1 s.
  ///   - key: returns the text that distinguishes requests to one origin that have separate limits, such as the first
  ///     path segment. Use few distinct values without secrets: errors include them, and values beyond 10,000 share a
  ///     limit. Default `nil`: all requests to an origin share a limit.
  ///   - time: the time source. Default: the system's.
  /// - Throws: `ConfigurationError` that names the invalid value.
  public convenience init(
    limit: Int, queueCapacity: Int = 100, maximumWait: Duration = .seconds(1),
    key: (@Sendable (TransferRequest) -> String)? = nil, time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    try self.init(.fixed(limit), queueCapacity: queueCapacity, maximumWait: maximumWait, key: .of(key), time: time)
  }

  /// Creates a limiter whose limit adapts to the server.
  ///
  /// By default, the limit follows the attempts that the server drops (additive increase, multiplicative decrease).
  /// While at least half of the limit is in use, it grows by one with each response until the first drop, and by one
  /// per round trip from then on. A dropped attempt (429, 503, 504, a timeout, a connection refused) multiplies the
  /// limit by `backoff`. Attempts that began before the last decrease do not decrease it again, because attempts that
  /// are dropped together count as one signal. This suits mixed calls, because latency up to 5 s is ignored.
  ///
  /// - Parameters:
  ///   - initial: the limit at first, within the range. Default 20.
  ///   - range: the smallest and the largest limit, from 1 to 1,000,000. Default `nil`: 1 to 200; if the limit follows
  ///     the latency, 20 to 200, because a few attempts measure the latency badly.
  ///   - backoff: the factor of a decrease: above 0, and below 1. It has no effect if the limit follows the latency.
  ///     Default 0.9.
  ///   - followsLatency: whether the limit follows the latency in place of dropped attempts: the current latency is
  ///     compared with that of the last 600 windows (Netflix's Gradient2). This suits calls of one kind: give a key per
  ///     operation. Default false.
  ///   - queueCapacity: the maximum number of waiting attempts per key; 0 disables the queue. Default 100.
  ///   - maximumWait: the longest time that an attempt waits. Default 1 s.
  ///   - key: returns the text that distinguishes requests to one origin that have separate limits, such as the first
  ///     path segment. Use few distinct values without secrets: errors include them, and values beyond 10,000 share a
  ///     limit. Default `nil`: all requests to an origin share a limit.
  ///   - time: the time source. Default: the system's.
  /// - Throws: `ConfigurationError` that names the invalid value.
  public convenience init(
    initial: Int = 20, range: ClosedRange<Int>? = nil, backoff: Double = 0.9, followsLatency: Bool = false,
    queueCapacity: Int = 100, maximumWait: Duration = .seconds(1),
    key: (@Sendable (TransferRequest) -> String)? = nil, time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    try self.init(
      followsLatency
        ? .gradient(initial: initial, range: range ?? 20...200)
        : .aimd(initial: initial, range: range ?? 1...200, backoff: backoff),
      queueCapacity: queueCapacity, maximumWait: maximumWait, key: .of(key), time: time)
  }

  /// Creates a limiter without outstanding permits.
  ///
  /// - Parameters:
  ///   - algorithm: the algorithm that sets the limit.
  ///   - queueCapacity: the maximum number of waiting attempts per key; 0 disables the queue. Default 100.
  ///   - maximumWait: the longest time that an attempt waits. Default 1 s.
  ///   - key: the rule that decides which requests share a limit. Default: requests to the same origin.
  ///   - time: the time source. Default: the system's.
  /// - Throws: `ConfigurationError` that names the invalid value.
  package init(
    _ algorithm: ConcurrencyAlgorithm, queueCapacity: Int = 100, maximumWait: Duration = .seconds(1),
    key: ResilienceKeyRule = .origin, time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    try algorithm.check()
    try ConfigurationError.check("queueCapacity", queueCapacity, atLeast: 0)
    try ConfigurationError.check("maximumWait", maximumWait, atLeast: .zero)
    self.time = time
    keyRule = key
    state = Lock(
      State(
        rules: Rules(algorithm: algorithm, queueCapacity: queueCapacity, maximumWait: maximumWait),
        machines: KeyedMachines { LimiterMachine(algorithm, capacity: queueCapacity) }))
  }

  /// Follows the rules of another limiter from now on, without forgetting anything.
  ///
  /// Attempts in flight keep their permits, and queued ones their places, also above a lower limit or capacity; a queued
  /// attempt waits for at most as long as when it arrived. An adaptive limit stays, unless it is outside of the new
  /// range. The key and the time source stay those of this limiter.
  ///
  /// ```swift
  /// limiter.adoptRules(of: try ConcurrencyLimiter(limit: 50))
  /// ```
  ///
  /// - Parameter other: the limiter whose rules are copied. It does not change.
  public func adoptRules(of other: ConcurrencyLimiter) {
    let rules = other.state.withLock { $0.rules }
    let now = time.now()
    let woken = state.withLock { state in
      state.rules = rules
      var admitted: [(Waiter, LimiterMachine.Grant)] = []
      state.machines.changeAll {
        LimiterMachine(rules.algorithm, capacity: rules.queueCapacity)
      } _: { machine, place in
        for (ticket, grant) in machine.adopt(rules.algorithm, capacity: rules.queueCapacity, now: now) {
          admitted.append((Waiter(place: place, ticket: ticket), grant))
        }
      }
      return admitted.compactMap { state.settle($0, $1) }
    }
    for waiter in woken { waiter.resume() }
  }

  /// Returns the state of the limiter for a key.
  package func snapshot(of key: ResilienceKey) -> Snapshot {
    state.withLock { $0.machines.known(key)?.snapshot }
      ?? Snapshot(limit: ConcurrencyLimit(algorithm).value, inUse: 0, waiting: 0)
  }

  /// Returns the limit of each key and its use, for a snapshot.
  func snapshotParts() -> [StackSnapshot.Part] {
    state.withLock { state in
      state.machines.parts(of: "limiter") { machine in
        let snapshot = machine.snapshot
        return [
          "limit": .count(snapshot.limit), "inUse": .count(snapshot.inUse), "waiting": .count(snapshot.waiting),
        ]
      }
    }
  }

  /// Waits for a permit.
  ///
  /// - Parameters:
  ///   - key: the key of the request.
  ///   - left: the time left for the whole attempt; the call fails at once if the expected wait is longer. Default: no
  ///     limit.
  /// - Returns: the permit, through which the caller reports how the attempt ended. A permit that is dropped without a
  ///   report is returned automatically.
  /// - Throws: `TransportError`, stage `policy`, code `concurrency_limited`; the cancelled error when the task is
  ///   cancelled. Nothing was sent.
  package func permit(for key: ResilienceKey, left: Duration? = nil) async throws(TransportError) -> ConcurrencyPermit {
    switch try ask(key, left) {
    case .admitted(let place, let grant): return permit(for: key, at: place, grant)
    case .waits(let wait): return try await permit(after: wait, for: key)
    }
  }

  func permit(for key: ResilienceKey, at place: Place, _ grant: LimiterMachine.Grant) -> ConcurrencyPermit {
    ConcurrencyPermit(limiter: self, key: key, place: place, grant: grant)
  }

  func permit(after wait: Wait, for key: ResilienceKey) async throws(TransportError) -> ConcurrencyPermit {
    let (waiter, answer) = (wait.waiter, wait.answer)
    let outcome = await interruptible(within: wait.limit, time: time) { await answer.wait() }
    // An attempt that was admitted meanwhile has a permit, regardless of how the wait ended.
    if let grant = leave(waiter, answer) {
      let permit = ConcurrencyPermit(limiter: self, key: key, place: waiter.place, grant: grant)
      if case .failure(.cancelled) = outcome { throw .cancelled() }
      return permit
    }
    if case .failure(.cancelled) = outcome { throw .cancelled() }
    let snapshot = snapshot(of: key)
    throw .concurrencyLimited(key, inUse: snapshot.inUse, waiting: snapshot.waiting)
  }

  /// Asks without suspending, because most attempts do not wait.
  func ask(_ key: ResilienceKey, _ left: Duration?) throws(TransportError) -> Admission {
    let now = time.now()
    let (admission, refusal) = state.withLock { state -> (Admission?, Snapshot?) in
      let place = state.machines.place(of: key, now: now)
      switch state.machines[place].ask(now: now, left: left) {
      case .admitted(let grant): return (.admitted(place, grant), nil)
      case .refused: return (nil, state.machines[place].snapshot)
      case .queued(let ticket):
        let waiter = Waiter(place: place, ticket: ticket)
        let answer = OneAnswer<LimiterMachine.Grant?>()
        state.waiters[waiter] = answer
        let limit = min(state.rules.maximumWait, left ?? state.rules.maximumWait)
        return (.waits(Wait(waiter: waiter, answer: answer, limit: limit)), nil)
      }
    }
    if let admission { return admission }
    throw .concurrencyLimited(key, inUse: refusal?.inUse ?? 0, waiting: refusal?.waiting ?? 0)
  }

  private func leave(_ waiter: Waiter, _ answer: OneAnswer<LimiterMachine.Grant?>) -> LimiterMachine.Grant? {
    let wasQueued = state.withLock { state in
      state.waiters[waiter] = nil
      return state.machines[waiter.place].leave(waiter.ticket)
    }
    // Resume the task that waits for the answer.
    if wasQueued { answer.give(nil) }
    return answer.take() ?? nil
  }

  @discardableResult
  func end(_ place: Place, _ grant: LimiterMachine.Grant, _ load: LoadSample) -> Snapshot {
    let now = time.now()
    let (woken, snapshot) = state.withLock { state in
      let woken = state.machines[place].end(grant, load, now: now).compactMap { ticket, grant in
        state.settle(Waiter(place: place, ticket: ticket), grant)
      }
      return (woken, state.machines[place].snapshot)
    }
    for waiter in woken { waiter.resume() }
    return snapshot
  }
}
