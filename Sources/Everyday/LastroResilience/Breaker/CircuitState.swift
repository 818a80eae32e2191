// SPDX-License-Identifier: Apache-2.0

/// The state of a circuit, which decides about the next attempt.
package enum CircuitState: Sendable, Hashable, CustomStringConvertible {
  /// A state that an application forces on a circuit, regardless of outcomes.
  package enum Forced: Sendable, Hashable, CaseIterable {
    /// Refuses every attempt.
    case open
    /// Admits every attempt and counts none.
    case closed
    /// Admits every attempt but keeps counting, so that the circuit changes state as usual.
    case observing
  }

  /// Attempts are admitted.
  case closed
  /// Attempts are refused for the given time.
  case open(left: Duration)
  /// A few attempts are admitted to probe whether the server has recovered.
  case halfOpen

  /// The state as one word.
  package var description: String {
    switch self {
    case .closed: "closed"
    case .open: "open"
    case .halfOpen: "half-open"
    }
  }
}
