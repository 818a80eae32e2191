// SPDX-License-Identifier: Apache-2.0

/// Tasks that wait until a count is reached. The owner keeps them under a lock, next to the count.
struct CountWaiters {
  struct Waiter {
    var threshold: Int
    var continuation: CheckedContinuation<Void, any Error>

    init(threshold: Int, continuation: CheckedContinuation<Void, any Error>) {
      self.threshold = threshold
      self.continuation = continuation
    }
  }

  private var waiters: [UInt64: Waiter] = [:]
  private var cancelled: Set<UInt64> = []

  init() {}

  var isEmpty: Bool { waiters.isEmpty }

  /// Stores the waiter. Returns false if it was cancelled before it was added.
  mutating func add(_ id: UInt64, _ waiter: Waiter) -> Bool {
    if cancelled.remove(id) != nil { return false }
    waiters[id] = waiter
    return true
  }

  /// Removes and returns the cancelled waiter; records the cancellation if the waiter was not added yet.
  mutating func cancel(_ id: UInt64) -> CheckedContinuation<Void, any Error>? {
    if let waiter = waiters.removeValue(forKey: id) { return waiter.continuation }
    cancelled.insert(id)
    return nil
  }

  /// Removes the record of a wait that has ended.
  mutating func forget(_ id: UInt64) { cancelled.remove(id) }

  /// Removes and returns the waiters whose threshold is reached.
  mutating func take(reached count: Int) -> [CheckedContinuation<Void, any Error>] {
    let due = waiters.filter { $0.value.threshold <= count }
    for id in due.keys { waiters[id] = nil }
    return due.values.map(\.continuation)
  }

  /// Removes and returns all waiters.
  mutating func takeAll() -> [CheckedContinuation<Void, any Error>] {
    defer { waiters = [:] }
    return waiters.values.map(\.continuation)
  }
}
