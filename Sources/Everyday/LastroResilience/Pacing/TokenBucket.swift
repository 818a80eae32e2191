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

  init(_ pace: Pacer.Pace) {
    interval = .seconds(1 / pace.perSecond)
    tolerance = interval * (pace.burst - 1)
  }

  /// Reserves the next time.
  ///
  /// - Returns: the reserved time, which may be now.
  mutating func reserve(now: Duration) -> Duration {
    let slot = max(now, due - tolerance)
    due = max(slot, due) + interval
    return slot
  }

  /// Returns a bucket of another pace that is ahead of it by as many requests as this one is.
  func adopting(_ pace: Pacer.Pace, now: Duration) -> TokenBucket {
    var result = TokenBucket(pace)
    if due > now { result.due = now + result.interval * ((due - now) / interval) }
    return result
  }
}
