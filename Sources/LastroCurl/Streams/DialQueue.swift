// SPDX-License-Identifier: Apache-2.0

/// The dials of one host: each may take a thread that resolves its name.
///
/// What was given up is not searched for: it is passed over when its turn comes, or when the queue is tidied.
struct DialQueue {
  private static let leastToTidy = 64

  var running = 0
  private var waiting: [UInt64] = []
  private var taken = 0
  private var gone = 0

  /// Entries kept, useless ones too.
  var stored: Int { waiting.count }

  mutating func append(_ id: UInt64) { waiting.append(id) }

  /// The first that still waits.
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

  /// One of those that wait does so no more.
  mutating func noteGone(_ stillWaits: (UInt64) -> Bool) {
    gone += 1
    tidy(stillWaits)
  }

  /// Lets go of what was taken or given up, once that is more than half.
  private mutating func tidy(_ stillWaits: (UInt64) -> Bool) {
    guard waiting.count >= Self.leastToTidy, 2 * (taken + gone) > waiting.count else { return }
    waiting = waiting[taken...].filter(stillWaits)
    taken = 0
    gone = 0
  }
}
