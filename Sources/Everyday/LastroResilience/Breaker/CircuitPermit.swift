// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A permit for one attempt that a ``CircuitBreaker`` admitted. It cannot be copied, so an outcome is reported at most
/// once. A permit that is dropped, because the attempt was abandoned, is returned automatically.
package struct CircuitPermit: ~Copyable, Sendable {
  let key: ResilienceKey
  private let breaker: CircuitBreaker
  private let place: KeyedMachines<CircuitMachine>.Place
  /// The circuit's generation; `nil` once an outcome was reported, or if the outcome does not count.
  private var generation: UInt64?
  private let start: Duration
  /// Whether this permit moved the circuit from open to half-open.
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

  /// Reports the outcome of the attempt.
  ///
  /// - Parameters:
  ///   - verdict: the attempt's verdict on the server.
  ///   - retryAfter: how long the server asks not to be called. An open circuit stays open for at least that long, up
  ///     to one hour.
  /// - Returns: the circuit's old and new state; `nil` if the state did not change.
  @discardableResult
  package consuming func end(
    _ verdict: AttemptVerdict, retryAfter: Duration? = nil
  ) -> (from: CircuitState, to: CircuitState)? {
    guard let generation = generation.take() else { return nil }
    return breaker.end(place, generation, verdict, start: start, retryAfter: retryAfter)
  }

  deinit {
    if let generation { _ = breaker.end(place, generation, .ignored, start: start, retryAfter: nil) }
  }
}
