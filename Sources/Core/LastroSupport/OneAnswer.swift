// SPDX-License-Identifier: Apache-2.0

/// A container for a single value that is set once, taken once, and awaited by one task.
///
/// Only the first value counts. It is kept until it is taken, so a task may wait before or after it is set. Any thread
/// may set the value. Cancelling the waiting task does not provide a value. A copy refers to the same container.
public struct OneAnswer<Value: Sendable>: Identifiable, Sendable {
  /// The task that was waiting when the value was set. It must be resumed once.
  ///
  /// The continuation is unsafe because a checked one needs an allocation for each wait. The condition that it would
  /// check is guaranteed: the continuation is removed from the state under the lock and then resumed.
  public typealias Waiter = UnsafeContinuation<Void, Never>

  @usableFromInline
  struct State {
    @usableFromInline var waiter: Waiter?
    @usableFromInline var isGiven = false
    /// The value, which is cleared when it is taken: it may have a reference to the owner of this container.
    @usableFromInline var value: Value?

    @inlinable
    init() {}
  }

  @usableFromInline let state = Lock(State())

  /// Creates a container without a value.
  @inlinable
  public init() {}

  /// The identity of the container.
  @inlinable public var id: ObjectIdentifier { state.id }

  /// Whether a value was set.
  @inlinable public var isGiven: Bool { state.withLock { $0.isGiven } }

  /// Sets the value, unless one was set before, and resumes the waiting task.
  @inlinable
  public func give(_ value: consuming Value) { offer(value) }

  /// Does the same as ``give(_:)``, and returns whether the value is the first one.
  @discardableResult
  @inlinable
  public func offer(_ value: consuming Value) -> Bool {
    let (isFirst, waiter) = settle(value)
    waiter?.resume()
    return isFirst
  }

  /// Sets the value, unless one was set before. The caller must resume the waiting task.
  @inlinable
  public func settle(_ value: consuming Value) -> (isFirst: Bool, waiter: Waiter?) {
    // Swap the value in, so that a large value is not copied.
    var value = Optional(value)
    return state.withLock { state in
      if state.isGiven { return (false, nil) }
      state.isGiven = true
      swap(&state.value, &value)
      return (true, state.waiter.take())
    }
  }

  /// Returns the value and removes it; `nil` if it was not set or has already been taken.
  @inlinable
  public func take() -> Value? { state.withLock { $0.value.take() } }

  /// Suspends until a value was set, which another task may already have taken. Must be called once.
  @inlinable
  public func wait() async { await wait { $0.isGiven } }

  @inlinable
  func wait(until isOver: (State) -> Bool) async {
    await withUnsafeContinuation { continuation in
      if !keep(continuation, until: isOver) { continuation.resume() }
    }
  }

  /// Stores the continuation. Returns `false` if there is no need to wait.
  @inlinable
  func keep(_ continuation: UnsafeContinuation<Void, Never>, until isOver: (State) -> Bool) -> Bool {
    state.withLock { state in
      if isOver(state) { return false }
      state.waiter = continuation
      return true
    }
  }

  /// Waits for the value and takes it. Must be called once, and not together with ``take()``.
  @inlinable
  public func value() async -> Value {
    while true {
      if let value = take() { return value }
      await wait { $0.value != nil }
    }
  }
}
