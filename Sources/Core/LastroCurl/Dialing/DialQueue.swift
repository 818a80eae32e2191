// SPDX-License-Identifier: Apache-2.0

/// The queue of dials to one host. Each dial may need a thread to resolve its name.
///
/// Abandoned dials are not searched for. They are skipped when their turn comes, or removed when the queue is tidied.
struct DialQueue {
  private static let leastToTidy = 64

  var running = 0
  private var waiting: [UInt64] = []
  private var taken = 0
  private var gone = 0

  /// The number of stored entries, including abandoned ones.
  var stored: Int { waiting.count }

  mutating func append(_ id: UInt64) { waiting.append(id) }

  /// Returns the first dial that is still waiting.
  mutating func next(_ stillWaits: (UInt64) -> Bool) -> UInt64? {
    while taken < waiting.count {
      let id = waiting[taken]
      taken += 1
      if stillWaits(id) {
        tidy { $0 != id && stillWaits($0) }
        return id
      }
      gone -= 1
    }
    waiting = []
    taken = 0
    gone = 0
    return nil
  }

  /// Records that a waiting dial was abandoned.
  mutating func noteGone(_ stillWaits: (UInt64) -> Bool) {
    gone += 1
    tidy(stillWaits)
  }

  /// Removes started and abandoned dials once they are more than half of the entries.
  private mutating func tidy(_ stillWaits: (UInt64) -> Bool) {
    guard waiting.count >= Self.leastToTidy, 2 * (taken + gone) > waiting.count else { return }
    waiting = waiting[taken...].filter(stillWaits)
    taken = 0
    gone = 0
  }
}
