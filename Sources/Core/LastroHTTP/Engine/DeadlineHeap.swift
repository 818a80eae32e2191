// SPDX-License-Identifier: Apache-2.0

/// A priority queue of deadlines, or of other increasing numbers, ordered by time and then by number.
///
/// An entry is not removed when its time becomes irrelevant. It is skipped when it is due, and ``keep(_:)`` drops such
/// entries when they are the majority.
package struct DeadlineHeap {
  package struct Entry: Equatable {
    package let time: Int64
    package let number: UInt64

    fileprivate func precedes(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
  }

  /// The entries. Each one precedes those at `2i + 1` and `2i + 2`.
  private var entries: [Entry] = []

  package init() {}

  package var count: Int { entries.count }

  var first: Entry? { entries.first }

  /// The earliest time; `Int64.max` if there is no entry.
  package var next: Int64 { first?.time ?? .max }

  /// Adds an entry, unless its time is `Int64.max`, which would never be due.
  package mutating func add(_ time: Int64, _ number: UInt64) {
    guard time < .max else { return }
    entries.append(Entry(time: time, number: number))
    moveUp(from: entries.count - 1)
  }

  /// Removes and returns the earliest entry if it is due.
  package mutating func popDue(_ now: Int64) -> Entry? {
    guard let first = entries.first, first.time <= now else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      moveDown(from: 0)
    }
    return first
  }

  /// Drops the entries that no longer matter.
  package mutating func keep(_ matters: (Entry) -> Bool) {
    entries.removeAll { !matters($0) }
    for index in stride(from: entries.count / 2 - 1, through: 0, by: -1) { moveDown(from: index) }
  }

  private mutating func moveUp(from start: Int) {
    var index = start
    let entry = entries[index]
    while index > 0, entry.precedes(entries[(index - 1) / 2]) {
      entries[index] = entries[(index - 1) / 2]
      index = (index - 1) / 2
    }
    entries[index] = entry
  }

  private mutating func moveDown(from start: Int) {
    var index = start
    let entry = entries[index]
    while true {
      var child = 2 * index + 1
      if child + 1 < entries.count, entries[child + 1].precedes(entries[child]) { child += 1 }
      guard child < entries.count, entries[child].precedes(entry) else { break }
      entries[index] = entries[child]
      index = child
    }
    entries[index] = entry
  }
}
