// SPDX-License-Identifier: Apache-2.0

/// The dials to one host. Each may need a thread to resolve its name.
///
/// A dial that is given up leaves its id in the queue, because a search for each would take quadratic time if all are
/// given up. The queue is tidied when most of its ids are of that kind.
struct HostDials {
  /// The number of dials that have begun.
  var running = 0
  /// The ids of the dials that wait for one of these to end, in order, and of dials that were given up.
  private var ids: ArraySlice<UInt64> = []
  /// The number of dials that were given up since the queue was tidied.
  private var givenUp = 0

  /// The number of ids in memory.
  var count: Int { ids.count }

  mutating func append(_ id: UInt64) { ids.append(id) }

  /// Removes and returns the first dial that still waits; `nil` if there is none.
  mutating func popFirst(_ isWaiting: (UInt64) -> Bool) -> UInt64? {
    while let id = ids.popFirst() { if isWaiting(id) { return id } }
    givenUp = 0
    return nil
  }

  /// Records that a queued dial was given up.
  mutating func gaveUp(_ isWaiting: (UInt64) -> Bool) {
    givenUp += 1
    guard givenUp > ids.count / 2 else { return }
    ids.removeAll { !isWaiting($0) }
    givenUp = 0
  }
}
