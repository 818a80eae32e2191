// SPDX-License-Identifier: Apache-2.0

/// A state behind a lock, and tasks that wait for it to meet a condition.
///
/// A change wakes the tasks whose conditions are met by it, and no others. Conditions run with the lock held: they look
/// at the state, and call nothing else.
package final class Watched<State>: Sendable {
  private struct Waiter {
    var isMet: @Sendable (State) -> Bool
    var continuation: CheckedContinuation<Bool, Never>
  }

  private struct Contents {
    var state: State
    var waiters: [UInt64: Waiter] = [:]
    var lastID: UInt64 = 0

    mutating func takeMet() -> [CheckedContinuation<Bool, Never>] {
      guard !waiters.isEmpty else { return [] }
      let met = waiters.filter { $0.value.isMet(state) }
      for id in met.keys { waiters[id] = nil }
      return met.values.map(\.continuation)
    }
  }

  private let contents: Lock<Contents>

  package init(_ state: State) { contents = Lock(Contents(state: state)) }

  package func read<Value>(_ body: (State) -> Value) -> Value { contents.withLock { body($0.state) } }

  /// Changes the state, and wakes the tasks that wait for what it has become. `body` runs with the lock held.
  @discardableResult
  package func change<Value, Failure: Error>(
    _ body: (inout State) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    var woken: [CheckedContinuation<Bool, Never>] = []
    defer { for continuation in woken { continuation.resume(returning: true) } }
    return try contents.withLock { contents throws(Failure) in
      defer { woken = contents.takeMet() }
      return try body(&contents.state)
    }
  }

  /// Waits until the state meets a condition.
  ///
  /// - Returns: true; false when the task is cancelled and the condition is not met.
  package func wait(until isMet: @escaping @Sendable (State) -> Bool) async -> Bool {
    let (id, isMetNow) = contents.withLock { contents in
      contents.lastID += 1
      return (contents.lastID, isMet(contents.state))
    }
    if isMetNow { return true }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = contents.withLock { contents in
          if isMet(contents.state) { return true }
          // A cancellation from here on finds the waiter, because its handler needs the lock.
          if Task.isCancelled { return false }
          contents.waiters[id] = Waiter(isMet: isMet, continuation: continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      contents.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
    }
  }
}
