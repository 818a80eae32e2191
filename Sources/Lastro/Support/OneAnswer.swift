// SPDX-License-Identifier: Apache-2.0

/// A place for one value: given once, taken once, and waited for by one task.
///
/// The first value counts. It is kept until it is taken, so a task may wait before or after. Any thread may give; cancelling the task that waits gives nothing.
package final class OneAnswer<Value: Sendable>: Sendable {
  /// The task that waited when the value was given.
  package struct Waiter: Sendable {
    fileprivate let continuation: CheckedContinuation<Void, Never>

    /// Lets it go on. To be called once.
    package func wake() { continuation.resume() }
  }

  private struct State {
    var waiter: CheckedContinuation<Void, Never>?
    var isGiven = false
    /// Until it is taken: it may hold what holds this.
    var value: Value?
  }

  private let state = Lock(State())

  package init() {}

  package var isGiven: Bool { state.withLock { $0.isGiven } }

  /// Gives the value, unless one was given before, and wakes the task that waits for it.
  package func give(_ value: consuming Value) { offer(value) }

  /// As ``give(_:)``; says whether the value is the first.
  @discardableResult
  package func offer(_ value: consuming Value) -> Bool {
    let (isFirst, waiter) = settle(value)
    waiter?.wake()
    return isFirst
  }

  /// Gives the value, unless one was given before, and leaves it to the caller to wake the task that waits.
  package func settle(_ value: consuming Value) -> (isFirst: Bool, waiter: Waiter?) {
    // Swapped in: a large value is not copied.
    var value = Optional(value)
    return state.withLock { state in
      if state.isGiven { return (false, nil) }
      state.isGiven = true
      swap(&state.value, &value)
      return (true, state.waiter.take().map(Waiter.init))
    }
  }

  /// The value, where it is there and was not taken before.
  package func take() -> Value? { state.withLock { $0.value.take() } }

  /// Suspends until there is a value to take. To be called once.
  package func wait() async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.value == nil { state.waiter = continuation }
        return state.value != nil
      }
      if isThere { continuation.resume() }
    }
  }

  /// Waits for the value and takes it. To be called once, and not beside ``take()``.
  package func value() async -> Value {
    while true {
      if let value = take() { return value }
      await wait()
    }
  }
}
