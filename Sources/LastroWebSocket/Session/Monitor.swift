// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A state behind a lock, and waiting for it to meet a condition.
final class Monitor<State>: Sendable {
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

  init(_ state: State) { contents = Lock(Contents(state: state)) }

  func read<Value>(_ body: (State) -> Value) -> Value { contents.withLock { body($0.state) } }

  /// Changes the state, and wakes whoever waits for what it has become. `body` calls nobody.
  @discardableResult
  func change<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, woken) = contents.withLock { contents in
      let value = body(&contents.state)
      return (value, contents.takeMet())
    }
    for continuation in woken { continuation.resume(returning: true) }
    return value
  }

  /// Waits until the state meets a condition. False when the task is cancelled first.
  func wait(until isMet: @escaping @Sendable (State) -> Bool) async -> Bool {
    let (id, isMetNow) = contents.withLock { contents in
      contents.lastID += 1
      return (contents.lastID, isMet(contents.state))
    }
    if isMetNow { return true }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: Bool? = contents.withLock { contents in
          if isMet(contents.state) { return true }
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
