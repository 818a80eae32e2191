// SPDX-License-Identifier: Apache-2.0

/// Tasks that wait for a count to be reached. Its owner keeps it under a lock, next to the count.
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

  /// Keeps the waiter. Returns false when it was cancelled before it came.
  mutating func add(_ id: UInt64, _ waiter: Waiter) -> Bool {
    if cancelled.remove(id) != nil { return false }
    waiters[id] = waiter
    return true
  }

  /// Takes the waiter that is cancelled; remembers the cancellation when it is not there yet.
  mutating func cancel(_ id: UInt64) -> CheckedContinuation<Void, any Error>? {
    if let waiter = waiters.removeValue(forKey: id) { return waiter.continuation }
    cancelled.insert(id)
    return nil
  }

  /// Forgets what is known of a wait that is over.
  mutating func forget(_ id: UInt64) { cancelled.remove(id) }

  /// Takes those whose threshold is reached.
  mutating func take(reached count: Int) -> [CheckedContinuation<Void, any Error>] {
    let due = waiters.filter { $0.value.threshold <= count }
    for id in due.keys { waiters[id] = nil }
    return due.values.map(\.continuation)
  }

  /// Takes all.
  mutating func takeAll() -> [CheckedContinuation<Void, any Error>] {
    defer { waiters = [:] }
    return waiters.values.map(\.continuation)
  }
}
