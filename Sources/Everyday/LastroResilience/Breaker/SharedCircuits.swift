// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The circuits of other processes, which a breaker hears of and reports to.
///
/// All functions but ``turn(toProbe:for:within:)`` return at once. Calls for keys that share a circuit are not made.
package protocol SharedCircuits: AnyObject, Sendable {
  /// Records that an attempt is about to be made, and returns the last verdict of another process.
  ///
  /// - Parameter isClosed: whether the circuit of this process is closed.
  func attempt(on key: ResilienceKey, isClosed: Bool, now: Duration) -> CircuitNews

  /// Records that an attempt failed.
  func attemptFailed(on key: ResilienceKey)

  /// Reports that attempts of this process opened the circuit.
  func circuitOpened(_ key: ResilienceKey, for left: Duration)

  /// Reports that probes of this process closed the circuit.
  func circuitClosed(_ key: ResilienceKey)

  /// Asks for the turn to probe a server, which one process has at a time.
  ///
  /// - Parameters:
  ///   - length: the time after which the turn ends if the probes have not.
  ///   - limit: the longest wait for the response.
  func turn(toProbe key: ResilienceKey, for length: Duration, within limit: Duration) async -> ProbeTurn

  /// Returns the state of sharing, for `explain`.
  func words() -> String
}

/// The verdict of another process on a server.
package struct CircuitVerdict: Sendable, Hashable {
  /// A number that distinguishes the verdict from earlier ones.
  package var id: UInt64
  /// Whether a circuit was opened. If not, probes closed it.
  package var isOpen: Bool
  /// The rest of the break; zero for a circuit that was closed.
  package var left: Duration

  /// Creates a verdict.
  package init(id: UInt64, isOpen: Bool, left: Duration) { (self.id, self.isOpen, self.left) = (id, isOpen, left) }
}

/// The news for an attempt.
package struct CircuitNews: Sendable, Hashable {
  /// The last verdict of another process; `nil` if none is known.
  package var verdict: CircuitVerdict?
  /// The notes that report once that the store was lost, or that it is back.
  package var notes: [TransferFacts.Note]

  /// Creates news.
  package init(verdict: CircuitVerdict? = nil, notes: [TransferFacts.Note] = []) {
    (self.verdict, self.notes) = (verdict, notes)
  }
}

/// The response to the question whether a process may probe a server.
package enum ProbeTurn: Sendable, Hashable {
  /// It may probe: it has the turn, or the others cannot be asked.
  case taken
  /// Another process probes. It is worth asking again after the given time.
  case other(left: Duration)
  /// There is a new verdict, which decides.
  case news
  /// The task was cancelled.
  case cancelled
}
