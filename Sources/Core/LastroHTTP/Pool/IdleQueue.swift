// SPDX-License-Identifier: Apache-2.0

/// The idle connections of all hosts, in the order in which they became idle, so that the one idle longest is found
/// without a search. A connection that was taken in the meantime leaves a stale entry. Such entries are skipped when
/// their turn comes, and removed when they outnumber the others.
struct IdleQueue {
  private static let leastToTidy = 64

  /// An entry refers to a connection by number, so that it does not keep it alive. A connection gets a new turn each
  /// time it becomes idle.
  private var entries: [(number: UInt64, turn: UInt64)] = []
  private var next = 0
  private var lastTurn: UInt64 = 0
  /// The number of idle connections.
  private(set) var count = 0

  /// The number of stored entries, including stale ones.
  var stored: Int { entries.count }

  /// Appends a connection that became idle, and returns its turn.
  mutating func append(_ number: UInt64) -> UInt64 {
    count += 1
    lastTurn += 1
    entries.append((number, lastTurn))
    return lastTurn
  }

  /// Notes that a connection is no longer idle.
  ///
  /// - Parameter turn: returns the current turn of a connection; `nil` if it is not idle.
  mutating func noteGone(_ turn: (UInt64) -> UInt64?) {
    count -= 1
    if count == 0 {
      entries.removeAll(keepingCapacity: entries.count <= Self.leastToTidy)
      next = 0
    } else if entries.count > 2 * count + Self.leastToTidy {
      // Stale entries are removed in place, because this happens often.
      entries.removeSubrange(..<next)
      entries.removeAll { turn($0.number) != $0.turn }
      next = 0
    }
  }

  /// Returns the number of the connection that has been idle longest; `nil` if there is none.
  mutating func first(_ turn: (UInt64) -> UInt64?) -> UInt64? {
    while next < entries.count {
      let entry = entries[next]
      if turn(entry.number) == entry.turn { return entry.number }
      next += 1
    }
    return nil
  }
}
