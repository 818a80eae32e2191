// SPDX-License-Identifier: Apache-2.0

/// The idle connections of all hosts, in the order in which they became idle, so that the one idle longest is found
/// without a search. A connection that was taken in the meantime leaves a stale entry. Such entries are skipped when
/// their turn comes, and removed when they outnumber the others.
struct IdleQueue {
  private static let leastToTidy = 64

  /// The connections by their turns. An entry refers to a connection by number, so that it does not keep it alive. A
  /// connection gets a new turn each time it becomes idle.
  private var turns = DeadlineHeap()
  private var lastTurn: Int64 = 0
  /// The number of idle connections.
  private(set) var count = 0

  /// The number of stored entries, including stale ones.
  var stored: Int { turns.count }

  /// Appends a connection that became idle, and returns its turn.
  mutating func append(_ number: UInt64) -> Int64 {
    count += 1
    lastTurn += 1
    turns.add(lastTurn, number)
    return lastTurn
  }

  /// Removes a connection that is no longer idle from the count. Its entry is stale from here on.
  ///
  /// - Parameter turn: returns the current turn of a connection; `nil` if it is not idle.
  mutating func removeOne(_ turn: (UInt64) -> Int64?) {
    count -= 1
    if turns.count > 2 * count + Self.leastToTidy { turns.keep { turn($0.number) == $0.time } }
  }

  /// Returns the number of the connection that has been idle longest; `nil` if there is none.
  mutating func first(_ turn: (UInt64) -> Int64?) -> UInt64? {
    while let entry = turns.first {
      if turn(entry.number) == entry.time { return entry.number }
      _ = turns.popDue(.max)
    }
    return nil
  }
}
