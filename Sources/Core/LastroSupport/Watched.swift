// SPDX-License-Identifier: Apache-2.0

/// A state behind a lock, with tasks that wait until it meets a condition.
///
/// A change wakes only the tasks whose conditions it meets. Conditions run with the lock held, so they must only read
/// the state.
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

  /// Changes the state, and resumes the tasks whose conditions it now meets. `body` runs with the lock held.
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
  /// - Returns: `true`; `false` if the task is cancelled and the condition is not met.
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
          // A later cancellation finds the waiter, because its handler needs the lock.
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
