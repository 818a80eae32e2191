// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A pace with bursts, by the generic cell rate algorithm: its whole state is one time.
struct TokenBucket: Sendable, Hashable {
  /// The time between two requests at the pace.
  let interval: Duration
  /// The time by which a burst may run ahead of the pace.
  let tolerance: Duration
  /// The time at which the next request would be due if all kept to the pace.
  private(set) var due = Duration.zero

  init(perSecond: Double, burst: Int) {
    interval = .seconds(1 / perSecond)
    tolerance = interval * (burst - 1)
  }

  /// Reserves the next time.
  ///
  /// - Returns: the reserved time, which may be now.
  mutating func reserve(now: Duration) -> Duration {
    let slot = max(now, due - tolerance)
    due = max(slot, due) + interval
    return slot
  }
}
