// SPDX-License-Identifier: Apache-2.0

/// A buffer of the latest elements of a sequence, by number.
struct RecentElements<Element> {
  private let capacity: Int
  private var elements: [Element] = []
  private(set) var end: UInt64 = 0

  init(capacity: Int) { self.capacity = capacity }

  var last: Element? { elements.last }

  mutating func append(_ element: Element) {
    if elements.count == capacity { elements.removeFirst() }
    elements.append(element)
    end += 1
  }

  /// Returns the element with this number, or the oldest remaining one after it, together with its number.
  func element(from number: UInt64) -> (element: Element, number: UInt64)? {
    let number = max(number, end - UInt64(elements.count))
    guard number < end else { return nil }
    return (elements[elements.count - Int(end - number)], number)
  }
}
