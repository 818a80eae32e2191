// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A state behind a lock, and those who wait for it to change.
final class AwaitedState<State>: Sendable {
  private struct Cell {
    var state: State
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let cell: Lock<Cell>

  init(_ state: State) { cell = Lock(Cell(state: state)) }

  func read<Value>(_ body: (State) -> Value) -> Value { cell.withLock { body($0.state) } }

  /// Changes the state and wakes whoever waits.
  @discardableResult func change<Value>(_ body: (inout State) -> Value) -> Value {
    let (value, waiters) = cell.withLock { cell in
      let value = body(&cell.state)
      defer { cell.waiters = [] }
      return (value, cell.waiters)
    }
    for waiter in waiters { waiter.resume() }
    return value
  }

  /// Returns when the state is as it shall be, `limit` has passed, or the task is cancelled.
  func wait(
    within limit: Duration?, time: TimeSource, until isMet: @escaping @Sendable (State) -> Bool
  ) async -> Result<Void, Interruption> {
    let outcome = await interruptible(within: limit, time: time) { [self] in
      while !Task.isCancelled, !read(isMet) { await waitForChange(unless: isMet) }
    }
    return Task.isCancelled ? .failure(.cancelled) : outcome
  }

  private func waitForChange(unless isMet: @escaping @Sendable (State) -> Bool) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isLate = cell.withLock { cell in
          if isMet(cell.state) || Task.isCancelled { return true }
          cell.waiters.append(continuation)
          return false
        }
        if isLate { continuation.resume() }
      }
    } onCancel: {
      change { _ in }
    }
  }
}
