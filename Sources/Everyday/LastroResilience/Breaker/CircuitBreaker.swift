// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Stops sending to a server that fails, and probes it again with a few attempts after a while.
///
/// Each key has its own circuit, up to 10,000 keys. Share one breaker among stacks that call the same servers. It may
/// be used from any thread and never blocks.
///
/// ```swift
/// let breaker = CircuitBreaker(policy: try CircuitBreakerPolicy(failureRatio: 0.25))
/// let stack = TransportNetworkStack(transport: ResilientTransport(over: engine, Resilience(breaker: breaker)))
/// ```
public final class CircuitBreaker: Sendable {
  /// The rules by which circuits open and close.
  package let policy: CircuitBreakerPolicy
  let keyRule: ResilienceKeyRule
  private let circuits: Lock<KeyedMachines<CircuitMachine>>
  private let time: TimeSource
  private let random: RandomSource

  /// Creates a breaker with all circuits closed.
  ///
  /// - Parameters:
  ///   - policy: the rules by which circuits open and close. Default ``CircuitBreakerPolicy/standard``.
  ///   - key: the rule that decides which requests share a circuit. Default: requests to the same origin.
  ///   - time: the time source. Default: the system's.
  ///   - random: a source of jitter, so that circuits half-open at different moments. Default: the system's.
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

  /// Returns the state of a circuit; `.closed` if nothing was sent for its key.
  package func state(of key: ResilienceKey) -> CircuitState {
    let now = time.now()
    return circuits.withLock { $0.known(key)?.state(now: now) ?? .closed }
  }

  /// Forces a circuit into a state; `nil` lets the circuit decide for itself again.
  package func force(_ state: CircuitState.Forced?, for key: ResilienceKey) {
    let now = time.now()
    circuits.withLock { circuits in circuits[circuits.place(of: key, now: now)].forced = state }
  }

  /// Requests permission for one attempt.
  ///
  /// - Returns: a permit through which the caller reports the outcome. A permit that is dropped without a report counts
  ///   as ignored.
  /// - Throws: `TransportError`, stage `policy`, code `circuit_open`; nothing was sent.
  package func permit(for key: ResilienceKey) throws(TransportError) -> CircuitPermit {
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
      // Compare the fields only: a copy of the machine would force the change below to copy its storage.
      let before = (generation: circuits[place].generation, state: circuits[place].state(now: now))
      circuits[place].end(
        generation, verdict, duration: now - start, now: now, retryAfter: retryAfter, unit: unit)
      let after = (generation: circuits[place].generation, state: circuits[place].state(now: now))
      return before.generation == after.generation ? nil : (before.state, after.state)
    }
  }
}
