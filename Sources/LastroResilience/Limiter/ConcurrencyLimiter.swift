// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Bounds how many attempts to a server are under way at once, and learns how many it can bear.
///
/// Each key has a limit of its own, of at most 10,000. Share one limiter among stacks that call the same servers. Any
/// thread may use it.
///
/// ```swift
/// let limiter = try ConcurrencyLimiter(.aimd())
/// let stack = TransportNetworkStack(transport: ResilientTransport(over: engine, Resilience(limiter: limiter)))
/// ```
public final class ConcurrencyLimiter: Sendable {
  /// What a limiter knows of a key.
  public struct Snapshot: Sendable, Hashable {
    /// How many may be under way.
    public let limit: Int
    /// How many are.
    public let inUse: Int
    /// How many wait.
    public let waiting: Int
  }

  typealias Place = KeyedMachines<LimiterMachine>.Place

  private struct State {
    var machines: KeyedMachines<LimiterMachine>
    var waiters: [Waiter: OneAnswer<LimiterMachine.Grant?>] = [:]
  }

  fileprivate struct Waiter: Hashable {
    var place: Place
    var ticket: UInt64
  }

  /// What becomes of an attempt that asks.
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
  private let algorithm: ConcurrencyAlgorithm
  private let maximumWait: Duration
  private let time: TimeSource
  private let state: Lock<State>

  /// Makes a limiter, none of whose permits are out.
  ///
  /// - Parameters:
  ///   - algorithm: how many may be under way. Default: AIMD, 20 at first, 1 to 200.
  ///   - queueCapacity: most that wait for each key; 0: none waits. Default 100.
  ///   - maximumWait: the longest that one waits. Default 1 s.
  ///   - key: which requests share a limit. Default: those to an origin.
  ///   - time: where the time comes from. Default: the system's.
  /// - Throws: `ConfigurationError`, with the value that cannot work.
  public init(
    _ algorithm: ConcurrencyAlgorithm = .aimd(), queueCapacity: Int = 100, maximumWait: Duration = .seconds(1),
    key: ResilienceKeyRule = .origin, time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    try algorithm.check()
    try ConfigurationError.check("queueCapacity", queueCapacity, atLeast: 0)
    try ConfigurationError.check("maximumWait", maximumWait, atLeast: .zero)
    self.algorithm = algorithm
    self.maximumWait = maximumWait
    self.time = time
    keyRule = key
    state = Lock(State(machines: KeyedMachines { LimiterMachine(algorithm, capacity: queueCapacity) }))
  }

  /// What it knows of a key.
  public func snapshot(of key: ResilienceKey) -> Snapshot {
    state.withLock { $0.machines.known(key)?.snapshot }
      ?? Snapshot(limit: ConcurrencyLimit(algorithm).value, inUse: 0, waiting: 0)
  }

  /// Waits for a permit.
  ///
  /// - Parameters:
  ///   - key: for what.
  ///   - left: how long the whole attempt may still take: a wait that would be longer is not begun. Default: no limit.
  /// - Returns: the permit, which has to be told how the attempt ended. One that is dropped untold goes back by itself.
  /// - Throws: `TransportError`, stage `policy`, code `concurrency_limited`; the cancelled error when the task is
  ///   cancelled. Nothing was sent.
  public func permit(for key: ResilienceKey, left: Duration? = nil) async throws(TransportError) -> ConcurrencyPermit {
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
    // What was admitted meanwhile is a permit, whatever ended the wait.
    if let grant = leave(waiter, answer) {
      let permit = ConcurrencyPermit(limiter: self, key: key, place: waiter.place, grant: grant)
      if case .failure(.cancelled) = outcome { throw .cancelled() }
      return permit
    }
    if case .failure(.cancelled) = outcome { throw .cancelled() }
    let snapshot = snapshot(of: key)
    throw .concurrencyLimited(key, inUse: snapshot.inUse, waiting: snapshot.waiting)
  }

  /// Asks without a suspension, for most wait for nothing.
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
        return (.waits(Wait(waiter: waiter, answer: answer, limit: min(maximumWait, left ?? maximumWait))), nil)
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
    // The task that waits for the answer is let go.
    if wasQueued { answer.give(nil) }
    return answer.take() ?? nil
  }

  @discardableResult
  func end(_ place: Place, _ grant: LimiterMachine.Grant, _ load: LoadSample) -> Snapshot {
    let now = time.now()
    let (woken, snapshot) = state.withLock { state in
      var woken: [OneAnswer<LimiterMachine.Grant?>.Waiter] = []
      for (ticket, grant) in state.machines[place].end(grant, load, now: now) {
        let answer = state.waiters.removeValue(forKey: Waiter(place: place, ticket: ticket))
        if let waiter = answer?.settle(grant).waiter { woken.append(waiter) }
      }
      return (woken, state.machines[place].snapshot)
    }
    for waiter in woken { waiter.wake() }
    return snapshot
  }
}

/// Room for one attempt, from a ``ConcurrencyLimiter``. It cannot be copied, and goes back by itself where it is
/// dropped.
public struct ConcurrencyPermit: ~Copyable, Sendable {
  let key: ResilienceKey
  private let limiter: ConcurrencyLimiter
  private let place: ConcurrencyLimiter.Place
  /// `nil` once it went back.
  private var grant: LimiterMachine.Grant?

  init(
    limiter: ConcurrencyLimiter, key: ResilienceKey, place: ConcurrencyLimiter.Place, grant: LimiterMachine.Grant
  ) {
    self.key = key
    self.limiter = limiter
    self.place = place
    self.grant = grant
  }

  /// Gives it back, and tells what the attempt says of load.
  public consuming func end(_ load: LoadSample) { _ = ended(load) }

  /// - Returns: how the limiter stands without it.
  consuming func ended(_ load: LoadSample) -> ConcurrencyLimiter.Snapshot? {
    guard let grant = grant.take() else { return nil }
    return limiter.end(place, grant, load)
  }

  deinit {
    if let grant { limiter.end(place, grant, .ignored) }
  }
}
