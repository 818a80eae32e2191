// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// What other methods changed while answers were under way: one that was asked for before a change, and comes behind
/// it, may be of what was there before.
final class ChangeCounts: Sendable {
  private struct Count {
    var readers = 0
    var changes = 0
  }

  /// By URL, as long as an answer of it is under way.
  private let counts = Lock<[[UInt8]: Count]>([:])

  /// An answer is asked for.
  ///
  /// - Returns: the number of changes so far.
  func begin(_ url: [UInt8]) -> Int {
    counts.withLock { counts in
      counts[url, default: Count()].readers += 1
      return counts[url]?.changes ?? 0
    }
  }

  func end(_ url: [UInt8]) {
    counts.withLock { counts in
      counts[url]?.readers -= 1
      if counts[url]?.readers == 0 { counts[url] = nil }
    }
  }

  func count(_ url: [UInt8]) -> Int { counts.withLock { $0[url]?.changes ?? 0 } }

  func note(_ url: [UInt8]) { counts.withLock { $0[url]?.changes += 1 } }
}
