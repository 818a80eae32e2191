// SPDX-License-Identifier: Apache-2.0

/// Tasks that wait for a count to be reached. Its owner keeps it under a lock, next to the count.
package struct CountWaiters {
  package struct Waiter {
    package var threshold: Int
    package var continuation: CheckedContinuation<Void, any Error>

    package init(threshold: Int, continuation: CheckedContinuation<Void, any Error>) {
      self.threshold = threshold
      self.continuation = continuation
    }
  }

  private var waiters: [UInt64: Waiter] = [:]
  private var cancelled: Set<UInt64> = []

  package init() {}

  package var isEmpty: Bool { waiters.isEmpty }

  /// Keeps the waiter. Returns false when it was cancelled before it came.
  package mutating func add(_ id: UInt64, _ waiter: Waiter) -> Bool {
    if cancelled.remove(id) != nil { return false }
    waiters[id] = waiter
    return true
  }

  /// Takes the waiter that is cancelled; remembers the cancellation when it is not there yet.
  package mutating func cancel(_ id: UInt64) -> CheckedContinuation<Void, any Error>? {
    if let waiter = waiters.removeValue(forKey: id) { return waiter.continuation }
    cancelled.insert(id)
    return nil
  }

  /// Forgets what is known of a wait that is over.
  package mutating func forget(_ id: UInt64) { cancelled.remove(id) }

  /// Takes those whose threshold is reached.
  package mutating func take(reached count: Int) -> [CheckedContinuation<Void, any Error>] {
    let due = waiters.filter { $0.value.threshold <= count }
    for id in due.keys { waiters[id] = nil }
    return due.values.map(\.continuation)
  }

  /// Takes all.
  package mutating func takeAll() -> [CheckedContinuation<Void, any Error>] {
    defer { waiters = [:] }
    return waiters.values.map(\.continuation)
  }
}
