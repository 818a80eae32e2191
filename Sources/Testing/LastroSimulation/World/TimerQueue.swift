// SPDX-License-Identifier: Apache-2.0

internal import LastroHTTP

/// Elements by time. Elements of the same time leave in the order of their insertion.
struct TimerQueue<Element> {
  private var heap = DeadlineHeap()
  private var elements: [UInt64: Element] = [:]
  private var inserted: UInt64 = 0

  /// The time of the first element; `nil` if there is none.
  var earliest: Int64? { elements.isEmpty ? nil : heap.next }

  /// Inserts an element, unless its time is `Int64.max`, which never comes.
  mutating func insert(_ element: Element, at time: Int64) {
    guard time < .max else { return }
    inserted += 1
    heap.add(time, inserted)
    elements[inserted] = element
  }

  /// Removes and returns the first element, unless its time is later than a given one.
  mutating func removeFirst(until time: Int64) -> Element? {
    heap.popDue(time).flatMap { elements.removeValue(forKey: $0.number) }
  }
}
