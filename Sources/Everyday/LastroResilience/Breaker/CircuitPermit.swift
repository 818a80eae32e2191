// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A permit for one attempt that a ``CircuitBreaker`` admitted. It cannot be copied, so an outcome is reported at most
/// once. A permit that is dropped, because the attempt was abandoned, is returned automatically.
package struct CircuitPermit: ~Copyable, Sendable {
  let breaker: CircuitBreaker
  let place: KeyedMachines<CircuitMachine>.Place
  /// The circuit's generation; `nil` once an outcome was reported.
  var generation: UInt64?
  let start: Duration
  /// Whether this permit moved the circuit from open to half-open.
  let isFirstProbe: Bool

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
