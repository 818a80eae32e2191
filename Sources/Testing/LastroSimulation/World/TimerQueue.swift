// SPDX-License-Identifier: Apache-2.0

/// Elements by time. Elements of the same time leave in the order of their insertion.
struct TimerQueue<Element> {
  private struct Entry {
    var time: Int64
    var turn: UInt64
    var element: Element

    func precedes(_ other: Self) -> Bool { (time, turn) < (other.time, other.turn) }
  }

  /// A binary heap.
  private var entries: [Entry] = []
  private var turns: UInt64 = 0

  /// The time of the first element; `nil` if there is none.
  var earliest: Int64? { entries.first?.time }

  mutating func insert(_ element: Element, at time: Int64) {
    turns += 1
    entries.append(Entry(time: time, turn: turns, element: element))
    var index = entries.count - 1
    while index > 0, entries[index].precedes(entries[(index - 1) / 2]) {
      entries.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Removes and returns the first element, unless its time is later than a given one.
  mutating func removeFirst(until time: Int64) -> Element? {
    guard let first = entries.first, first.time <= time else { return nil }
    entries.swapAt(0, entries.count - 1)
    entries.removeLast()
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < entries.count && entries[child].precedes(entries[least])
      {
        least = child
      }
      if least == index { return first.element }
      entries.swapAt(index, least)
      index = least
    }
  }
}
