// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Stops sending to a server that fails, and tries a few attempts after a while.
///
/// Each key has a circuit of its own, of at most 10,000. Share one breaker among stacks that call the same servers. Any
/// thread may use it; nothing in it waits.
///
/// ```swift
/// let breaker = CircuitBreaker(policy: try CircuitBreakerPolicy(failureRatio: 0.25))
/// let stack = TransportNetworkStack(transport: ResilientTransport(over: engine, Resilience(breaker: breaker)))
/// ```
public final class CircuitBreaker: Sendable {
  /// When circuits open.
  public let policy: CircuitBreakerPolicy
  let keyRule: ResilienceKeyRule
  private let circuits: Lock<KeyedMachines<CircuitMachine>>
  private let time: TimeSource
  private let random: RandomSource

  /// Makes a breaker, all of whose circuits are closed.
  ///
  /// - Parameters:
  ///   - policy: when circuits open. Default ``CircuitBreakerPolicy/standard``.
  ///   - key: which requests share a circuit. Default: those to an origin.
  ///   - time: where the time comes from. Default: the system's.
  ///   - random: makes circuits close at different moments. Default: the system's.
  public init(
    policy: CircuitBreakerPolicy = .standard, key: ResilienceKeyRule = .origin, time: TimeSource = .continuous,
    random: RandomSource = .system
  ) {
    self.policy = policy
    keyRule = key
    self.time = time
    self.random = random
    circuits = Lock(KeyedMachines { CircuitMachine(policy) })
  }

  /// The state of a circuit; closed where nothing was sent.
  public func state(of key: ResilienceKey) -> CircuitState {
    let now = time.now()
    return circuits.withLock { $0.known(key)?.state(now: now) ?? .closed }
  }

  /// Forces a circuit; `nil` lets it decide for itself again.
  public func force(_ state: CircuitState.Forced?, for key: ResilienceKey) {
    let now = time.now()
    circuits.withLock { circuits in circuits[circuits.place(of: key, now: now)].forced = state }
  }

  /// Asks for one attempt.
  ///
  /// - Returns: what its outcome has to be told to. One that is dropped untold says nothing of the server.
  /// - Throws: `TransportError`, stage `policy`, code `circuit_open`: nothing was sent.
  public func permit(for key: ResilienceKey) throws(TransportError) -> CircuitPermit {
    let now = time.now()
    let (place, answer, isFirst) = circuits.withLock { circuits in
      let place = circuits.place(of: key, now: now)
      let wasOpen = circuits[place].isOpen
      let answer = circuits[place].ask(now: now)
      return (place, answer, wasOpen && !circuits[place].isOpen)
    }
    switch answer {
    case .admitted(let generation):
      return CircuitPermit(
        breaker: self, key: key, place: place, generation: generation, start: now, isFirstProbe: isFirst)
    case .refused(let wait): throw .circuitOpen(key, wait)
    }
  }

  func end(
    _ place: KeyedMachines<CircuitMachine>.Place, _ generation: UInt64, _ verdict: AttemptVerdict, start: Duration,
    retryAfter: Duration?
  ) -> (from: CircuitState, to: CircuitState)? {
    let now = time.now()
    let unit = verdict == .failure ? random.unit() : 0
    return circuits.withLock { circuits in
      // Not the machine: what a copy holds would be copied by the change.
      let before = (generation: circuits[place].generation, state: circuits[place].state(now: now))
      circuits[place].end(
        generation, verdict, duration: now - start, now: now, retryAfter: retryAfter, unit: unit)
      let after = (generation: circuits[place].generation, state: circuits[place].state(now: now))
      return before.generation == after.generation ? nil : (before.state, after.state)
    }
  }
}

/// One attempt that a ``CircuitBreaker`` let through. It cannot be copied, and so its outcome is told once; where it is
/// told none, because the attempt was given up, the permit goes back by itself.
public struct CircuitPermit: ~Copyable, Sendable {
  let key: ResilienceKey
  private let breaker: CircuitBreaker
  private let place: KeyedMachines<CircuitMachine>.Place
  /// `nil` once its outcome is told, or where none counts.
  private var generation: UInt64?
  private let start: Duration
  /// Whether the circuit was open until it was asked for.
  let isFirstProbe: Bool

  init(
    breaker: CircuitBreaker, key: ResilienceKey, place: KeyedMachines<CircuitMachine>.Place, generation: UInt64?,
    start: Duration, isFirstProbe: Bool
  ) {
    self.key = key
    self.isFirstProbe = isFirstProbe
    self.breaker = breaker
    self.place = place
    self.generation = generation
    self.start = start
  }

  /// Tells the outcome.
  ///
  /// - Parameters:
  ///   - verdict: what the attempt says of the server.
  ///   - retryAfter: how long the server asks to be left alone: an open circuit stays so for that long at least, and
  ///     for an hour at most.
  /// - Returns: how the circuit changed, where it did.
  @discardableResult
  public consuming func end(
    _ verdict: AttemptVerdict, retryAfter: Duration? = nil
  ) -> (from: CircuitState, to: CircuitState)? {
    guard let generation = generation.take() else { return nil }
    return breaker.end(place, generation, verdict, start: start, retryAfter: retryAfter)
  }

  deinit {
    if let generation { _ = breaker.end(place, generation, .ignored, start: start, retryAfter: nil) }
  }
}
