// SPDX-License-Identifier: Apache-2.0

/// The connections that no request uses, of all hosts, in the order in which they fell idle: the one that has been so
/// for longest is found without a look at the others. One that was taken meanwhile is not searched for: it is passed
/// over when its turn comes, or let go when such are the greater part.
struct IdleQueue {
  private static let leastToTidy = 64

  /// By their numbers, so that nothing is kept alive. A connection falls idle again and again, and has a turn for each
  /// time.
  private struct Entry {
    let number: UInt64
    let turn: UInt64
  }

  private var entries: [Entry] = []
  private var next = 0
  private var lastTurn: UInt64 = 0
  /// The number of idle connections.
  private(set) var count = 0

  /// Entries kept, useless ones too.
  var stored: Int { entries.count }

  /// A connection has fallen idle. Gives its turn.
  mutating func append(_ number: UInt64) -> UInt64 {
    count += 1
    lastTurn += 1
    entries.append(Entry(number: number, turn: lastTurn))
    return lastTurn
  }

  /// Notes that a connection is no longer idle.
  ///
  /// - Parameter turn: which turn a connection has by now; `nil` where it is not idle.
  mutating func noteGone(_ turn: (UInt64) -> UInt64?) {
    count -= 1
    if count == 0 {
      entries.removeAll(keepingCapacity: entries.count <= Self.leastToTidy)
      next = 0
    } else if entries.count > 2 * count + Self.leastToTidy {
      // Tidied in place, because this happens often.
      entries.removeSubrange(..<next)
      entries.removeAll { turn($0.number) != $0.turn }
      next = 0
    }
  }

  /// The number of the one that has been idle for longest.
  mutating func first(_ turn: (UInt64) -> UInt64?) -> UInt64? {
    while next < entries.count {
      let entry = entries[next]
      if turn(entry.number) == entry.turn { return entry.number }
      next += 1
    }
    return nil
  }
}
