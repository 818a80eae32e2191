// SPDX-License-Identifier: Apache-2.0

/// What a circuit does with the next attempt.
public enum CircuitState: Sendable, Hashable, CustomStringConvertible {
  /// What a circuit is told to be, whatever it has seen.
  public enum Forced: Sendable, Hashable, CaseIterable {
    /// Refuses every attempt.
    case open
    /// Lets every attempt through, and counts none.
    case closed
    /// Lets every attempt through and counts, so that the circuit changes as it would.
    case observing
  }

  /// Attempts go through.
  case closed
  /// Attempts are refused for so long.
  case open(left: Duration)
  /// Some are let through, to see whether the server works again.
  case halfOpen

  /// One word.
  public var description: String {
    switch self {
    case .closed: "closed"
    case .open: "open"
    case .halfOpen: "half-open"
    }
  }
}
