// SPDX-License-Identifier: Apache-2.0

/// The state of a circuit, which decides about the next attempt.
package enum CircuitState: Sendable, Hashable, CustomStringConvertible {
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
