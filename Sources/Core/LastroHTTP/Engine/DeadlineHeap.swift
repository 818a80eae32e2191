// SPDX-License-Identifier: Apache-2.0

/// Times at which something is to be looked at, ordered by time and then by number.
///
/// An entry is not taken out when its time no longer matters: it is skipped when it is due, and ``keep(_:)`` drops such
/// entries where they are the greater part.
package struct DeadlineHeap {
  package struct Entry: Equatable {
    package let time: Int64
    package let number: UInt64

    fileprivate func precedes(_ other: Entry) -> Bool { (time, number) < (other.time, other.number) }
  }

  /// Each entry precedes those at `2i + 1` and `2i + 2`.
  private var entries: [Entry] = []

  package init() {}

  package var count: Int { entries.count }

  /// The earliest time; `Int64.max` where there is none.
  package var next: Int64 { entries.first?.time ?? .max }

  /// Adds an entry. One at `Int64.max` would never be due, and is not kept.
  package mutating func add(_ time: Int64, _ number: UInt64) {
    guard time < .max else { return }
    entries.append(Entry(time: time, number: number))
    moveUp(from: entries.count - 1)
  }

  /// Takes the earliest entry out, if it is due.
  package mutating func popDue(_ now: Int64) -> Entry? {
    guard let first = entries.first, first.time <= now else { return nil }
    let last = entries.removeLast()
    if !entries.isEmpty {
      entries[0] = last
      moveDown(from: 0)
    }
    return first
  }

  /// Drops the entries that do not matter any more.
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
