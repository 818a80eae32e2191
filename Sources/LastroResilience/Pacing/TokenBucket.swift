// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A pace with bursts, as the generic cell rate algorithm: its whole state is one time.
struct TokenBucket: Sendable, Hashable {
  /// Time between two at the pace.
  let interval: Duration
  /// How far ahead of the pace a burst may be.
  let tolerance: Duration
  /// When the next would be due if all came at the pace.
  private(set) var due = Duration.zero

  init(perSecond: Double, burst: Int) {
    interval = .seconds(1 / perSecond)
    tolerance = interval * (burst - 1)
  }

  /// Takes the next place.
  ///
  /// - Returns: when it is, which may be now.
  mutating func reserve(now: Duration) -> Duration {
    let slot = max(now, due - tolerance)
    due = max(slot, due) + interval
    return slot
  }
}
