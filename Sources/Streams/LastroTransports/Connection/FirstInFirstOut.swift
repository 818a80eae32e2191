// SPDX-License-Identifier: Apache-2.0

/// A queue that removes elements in constant time.
struct FirstInFirstOut<Element> {
  private var elements: [Element?] = []
  private var first = 0

  var isEmpty: Bool { first == elements.count }

  /// The element that is removed next; `nil` if there is none.
  var next: Element? { isEmpty ? nil : elements[first] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func popFirst() -> Element? {
    guard first < elements.count else { return nil }
    defer {
      elements[first] = nil
      first += 1
      if first == elements.count || first > 64 && first > elements.count / 2 {
        elements.removeFirst(first)
        first = 0
      }
    }
    return elements[first]
  }
}
