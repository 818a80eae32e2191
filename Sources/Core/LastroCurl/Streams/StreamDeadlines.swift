// SPDX-License-Identifier: Apache-2.0

/// The deadlines of streams: a heap, earliest first. Entries of completed operations are not removed; nothing happens
/// when they are due.
struct StreamDeadlines {
  private struct Entry {
    var time: Int64
    var id: UInt64
  }

  private var heap: [Entry] = []

  var count: Int { heap.count }
  var next: Int64 { heap.first?.time ?? .max }

  mutating func add(_ time: Int64, _ id: UInt64) {
    guard time < .max else { return }
    heap.append(Entry(time: time, id: id))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].time < heap[parent].time else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Takes the next entry that is due.
  mutating func take(now: Int64) -> UInt64? {
    guard let first = heap.first, first.time <= now else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return first.id
  }

  mutating func removeAll() { heap.removeAll(keepingCapacity: true) }

  private mutating func sink() {
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].time < heap[least].time {
        least = child
      }
      if least == parent { return }
      heap.swapAt(least, parent)
      parent = least
    }
  }
}
