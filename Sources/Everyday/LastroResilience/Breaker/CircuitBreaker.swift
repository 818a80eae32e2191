// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Stops sending to a server that fails, and probes it again with a few attempts after a while.
///
/// Each key has its own circuit, up to 10,000 keys. Share one breaker among stacks that call the same servers. It may
/// be used from any thread and never blocks.
///
/// ```swift
/// let breaker = try CircuitBreaker(failureRatio: 0.25, breakDuration: .seconds(10))
/// var configuration = StackConfiguration()
/// configuration.resilience = Resilience(breaker: breaker)
/// ```
public final class CircuitBreaker: Sendable {
  /// The set of attempts that a circuit counts.
  public enum Window: Sendable, Hashable {
    /// The attempts of the last given duration, in ten buckets.
    case time(Duration)
    /// The last given number of attempts.
    case calls(Int)
  }

  /// The rules by which circuits open and close.
  package var policy: CircuitBreakerPolicy { rules.withLock { $0 } }
  let keyRule: ResilienceKeyRule
  private let rules: Lock<CircuitBreakerPolicy>
  let circuits: Lock<KeyedMachines<CircuitMachine>>
  let time: TimeSource
  let random: RandomSource
  /// The circuits of other processes. Default `nil`: they are not asked.
  package let shared: (any SharedCircuits)?

  /// Creates a breaker with all circuits closed.
  ///
  /// By default, a circuit opens once half of at least 20 attempts in 30 s have failed, or the last 20. It stays open
  /// for 5 s to 60 s, followed by 3 probes.
  ///
  /// - Parameters:
  ///   - window: the set of attempts that is counted: a duration of 1 s or more, or 2 to 100,000 calls. It should span
  ///     at least twice the longest attempt. Default: the attempts of the last 30 s.
  ///   - minimumCalls: the number of attempts in the window below which the circuit stays closed: 2 or more, and at
  ///     most the size of a window of calls. Default 20.
  ///   - failureRatio: the share of failures that opens the circuit: above 0, and at most 1. Default 0.5.
  ///   - consecutiveFailures: the number of consecutive failures, spread over at least one second, that opens the
  ///     circuit regardless of the share of failures: 2 or more. It shortens detection after a healthy period, when
  ///     half of the window would take long to fail. It applies from `minimumCalls` attempts on. `nil`: only the share
  ///     counts. Default 20.
  ///   - slowCallDuration: the duration above which an attempt counts as slow. Default `nil`: no attempt counts as
  ///     slow.
  ///   - slowCallRatio: the share of slow attempts that opens the circuit: above 0, and at most 1. Default 1.
  ///   - breakDuration: the length of a break, with random jitter of ±10 %: 500 ms or more. If probes fail, the break
  ///     grows to one twentieth of the time since the circuit first opened, once that is longer. A server that recovers
  ///     is thus not avoided for much longer than its outage lasted. Default 5 s.
  ///   - maximumBreakDuration: the longest break, unless the server sends a longer `Retry-After`: `breakDuration` or
  ///     more. Default 60 s.
  ///   - probes: the number of probes that are admitted after a break; all of them must succeed: 1 or more. Default 3.
  ///   - key: returns the text that distinguishes requests to one origin that have separate circuits, such as the first
  ///     path segment. Use few distinct values without secrets: errors include them, and values beyond 10,000 share a
  ///     circuit. Default `nil`: all requests to an origin share a circuit.
  ///   - time: the time source. Default: the system's.
  ///   - random: a source of jitter, so that circuits half-open at different moments. Default: the system's.
  /// - Throws: `ConfigurationError` that names the invalid value.
  public convenience init(
    window: Window = .time(.seconds(30)), minimumCalls: Int = 20, failureRatio: Double = 0.5,
    consecutiveFailures: Int? = 20, slowCallDuration: Duration? = nil, slowCallRatio: Double = 1,
    breakDuration: Duration = .seconds(5), maximumBreakDuration: Duration = .seconds(60), probes: Int = 3,
    key: (@Sendable (TransferRequest) -> String)? = nil, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) throws(ConfigurationError) {
    let policy = CircuitBreakerPolicy(
      window: window, minimumCalls: minimumCalls, failureRatio: failureRatio, consecutiveFailures: consecutiveFailures,
      slowCallDuration: slowCallDuration, slowCallRatio: slowCallRatio, breakDuration: breakDuration,
      maximumBreakDuration: maximumBreakDuration, probes: probes)
    try policy.check()
    self.init(policy: policy, key: .of(key), time: time, random: random)
  }

  /// Creates a breaker with the default rules of the other initializer: `Resilience(breaker: .init())`.
  public convenience init() { self.init(policy: .standard) }

  /// Creates a breaker with all circuits closed.
  ///
  /// - Parameters:
  ///   - policy: the rules by which circuits open and close.
  ///   - key: the rule that decides which requests share a circuit. Default: requests to the same origin.
  ///   - time: the time source. Default: the system's.
  ///   - random: a source of jitter, so that circuits half-open at different moments. Default: the system's.
  ///   - shared: the circuits of other processes. Default `nil`: none.
  package init(
    policy: CircuitBreakerPolicy, key: ResilienceKeyRule = .origin, time: TimeSource = .continuous,
    random: RandomSource = .system, shared: (any SharedCircuits)? = nil
  ) {
    self.shared = shared
    keyRule = key
    self.time = time
    self.random = random
    rules = Lock(policy)
    circuits = Lock(KeyedMachines { CircuitMachine(policy) })
  }

  /// Returns a breaker with the same rules, and all circuits closed, that hears of circuits of other processes.
  package func sharing(_ make: (TimeSource, RandomSource) -> any SharedCircuits) -> CircuitBreaker {
    CircuitBreaker(policy: policy, key: keyRule, time: time, random: random, shared: make(time, random))
  }

  /// Follows the rules of another breaker from now on, without forgetting anything.
  ///
  /// Circuits stay open, half-open or closed, and a break ends when it would have ended. Counted attempts stay as far as
  /// they fit into the new window, unless it counts calls in place of a duration or the other way round. With another
  /// number of probes, a half-open circuit probes anew. The key, the time source and the source of jitter stay those of
  /// this breaker.
  ///
  /// ```swift
  /// breaker.adoptRules(of: try CircuitBreaker(failureRatio: 0.25, breakDuration: .seconds(10)))
  /// ```
  ///
  /// - Parameter other: the breaker whose rules are copied. It does not change.
  public func adoptRules(of other: CircuitBreaker) {
    let policy = other.policy
    let now = time.now()
    rules.withLock { rules in
      rules = policy
      circuits.withLock { circuits in
        circuits.changeAll(making: { CircuitMachine(policy) }, { circuit, _ in circuit.adopt(policy, now: now) })
      }
    }
  }

  /// Returns the state of a circuit; `.closed` if nothing was sent for its key.
  package func state(of key: ResilienceKey) -> CircuitState {
    let now = time.now()
    return circuits.withLock { $0.known(key)?.state(now: now) ?? .closed }
  }

  /// Returns the state of each circuit, for a snapshot.
  func snapshotParts() -> [StackSnapshot.Part] {
    let now = time.now()
    return circuits.withLock { circuits in
      circuits.parts(of: "breaker") { circuit in
        let state = circuit.state(now: now)
        var values: [String: StackSnapshot.Value] = ["state": .text("\(state)")]
        if case .open(let left) = state { values["probesIn"] = .seconds(left) }
        if circuit.isOpen, circuit.isOpenByOther { values["reportedBy"] = "another instance" }
        return values
      }
    }
  }

  /// Requests permission for one attempt.
  ///
  /// - Parameters:
  ///   - key: the key of the request.
  ///   - known: the place of its circuit. Default `nil`: it is looked up.
  /// - Returns: a permit through which the caller reports the outcome. A permit that is dropped without a report counts
  ///   as ignored.
  /// - Throws: `TransportError`, stage `policy`, code `circuit_open`; nothing was sent.
  func permit(
    for key: ResilienceKey, at known: KeyedMachines<CircuitMachine>.Place? = nil
  ) throws(TransportError) -> CircuitPermit {
    let now = time.now()
    let (place, answer, isFirst) = circuits.withLock { circuits in
      let place = known ?? circuits.place(of: key, now: now)
      let wasOpen = circuits[place].isOpen
      let answer = circuits[place].ask(now: now)
      return (place, answer, wasOpen && !circuits[place].isOpen)
    }
    switch answer {
    case .admitted(let generation):
      return CircuitPermit(breaker: self, place: place, generation: generation, start: now, isFirstProbe: isFirst)
    case .refused(let wait): throw .circuitOpen(key, wait)
    }
  }

  func end(
    _ place: KeyedMachines<CircuitMachine>.Place, _ generation: UInt64, _ verdict: AttemptVerdict, start: Duration,
    retryAfter: Duration?
  ) -> (from: CircuitState, to: CircuitState)? {
    let now = time.now()
    let unit = verdict == .failure ? random.unit() : 0
    let change: (from: CircuitState, to: CircuitState)? = circuits.withLock { circuits in
      // Compare the fields only: a copy of the machine would force the change below to copy its storage.
      let before = (generation: circuits[place].generation, state: circuits[place].state(now: now))
      circuits[place].end(
        generation, verdict, duration: now - start, now: now, retryAfter: retryAfter, unit: unit)
      let after = (generation: circuits[place].generation, state: circuits[place].state(now: now))
      return before.generation == after.generation ? nil : (before.state, after.state)
    }
    if let shared, let key = place.key { report(verdict, change?.to, of: key, to: shared) }
    return change
  }

  private func report(
    _ verdict: AttemptVerdict, _ state: CircuitState?, of key: ResilienceKey, to shared: any SharedCircuits
  ) {
    switch state {
    case .open(let left): shared.circuitOpened(key, for: left)
    case .closed: shared.circuitClosed(key)
    case .halfOpen, nil: if verdict == .failure { shared.attemptFailed(on: key) }
    }
  }
}
