// SPDX-License-Identifier: Apache-2.0

/// A priority queue of identifiers whose ranks change.
///
/// A rank that changes is pushed again, and the outdated pair stays in the queue until it is the lowest, or until most
/// pairs are outdated or repeated. The caller decides which pairs are outdated. Each push costs O(log n), amortized.
struct Ranking<Rank: Comparable> {
  typealias Pair = (rank: Rank, id: Int)

  /// A binary heap, lowest pair first.
  private var heap: [Pair] = []
  /// The number of comparisons so far.
  private(set) var steps = 0

  /// The number of pairs, including outdated ones.
  var count: Int { heap.count }

  /// Adds a pair.
  ///
  /// - Parameters:
  ///   - limit: the number of identifiers that have a rank. Outdated and repeated pairs are removed when there are more
  ///     than twice as many pairs.
  ///   - isCurrent: returns whether a pair is current.
  mutating func push(_ rank: Rank, _ id: Int, limit: Int, isCurrent: (Pair) -> Bool) {
    if heap.count >= 2 * limit + 32 {
      steps += heap.count
      heap.removeAll { !isCurrent($0) }
      heap.sort { ($0.rank, $0.id) < ($1.rank, $1.id) }
      removeRepeatedPairs()
    }
    heap.append((rank, id))
    var child = heap.count - 1
    while child > 0, isLower(child, (child - 1) / 2) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  /// Removes repeated pairs from a sorted heap. A pair is repeated if a rank was pushed again unchanged, or came back.
  private mutating func removeRepeatedPairs() {
    var kept = 0
    for index in heap.indices where index == 0 || heap[index] != heap[kept - 1] {
      heap[kept] = heap[index]
      kept += 1
    }
    heap.removeLast(heap.count - kept)
  }

  /// Returns the current pair with the lowest rank; among equal ranks, the one with the lowest identifier.
  mutating func lowest(isCurrent: (Pair) -> Bool) -> Pair? {
    while let first = heap.first {
      if isCurrent(first) { return first }
      removeFirst()
    }
    return nil
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var lowest = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isLower(child, lowest) {
        lowest = child
      }
      guard lowest != parent else { return }
      heap.swapAt(parent, lowest)
      parent = lowest
    }
  }

  private mutating func isLower(_ index: Int, _ other: Int) -> Bool {
    steps += 1
    return (heap[index].rank, heap[index].id) < (heap[other].rank, heap[other].id)
  }
}
