// SPDX-License-Identifier: Apache-2.0

import Lastro
import Synchronization

/// The system's time, which the load may move ahead: a minute passes for breakers and caches, and none for who watches.
final class PassingTime: Sendable {
  private let ahead = Mutex(Duration.zero)

  func pass(_ duration: Duration) { ahead.withLock { $0 += duration } }

  private var shift: Duration { ahead.withLock { $0 } }

  var source: TimeSource {
    let system = TimeSource.continuous
    return TimeSource(
      now: { system.now() + self.shift }, sleep: system.sleep, limit: system.limit,
      sinceEpoch: { system.sinceEpoch() + self.shift })
  }
}
