// SPDX-License-Identifier: Apache-2.0

/// A place for one value: given once, taken once, and waited for by one task.
///
/// The first value counts. It is kept until it is taken, so a task may wait before or after. Any thread may give;
/// cancelling the task that waits gives nothing. A copy refers to the same place.
public struct OneAnswer<Value: Sendable>: Identifiable, Sendable {
  /// The task that waited when the value was given.
  public struct Waiter: Sendable {
    // Unsafe because a checked one is an allocation for each wait, and what it would check is certain: it is taken
    // out of the state under the lock, and then resumed.
    @usableFromInline let continuation: UnsafeContinuation<Void, Never>

    @inlinable
    init(_ continuation: UnsafeContinuation<Void, Never>) { self.continuation = continuation }

    /// Lets it go on. To be called once.
    @inlinable
    public func wake() { continuation.resume() }
  }

  @usableFromInline
  struct State {
    @usableFromInline var waiter: UnsafeContinuation<Void, Never>?
    @usableFromInline var isGiven = false
    /// Until it is taken: it may hold what holds this.
    @usableFromInline var value: Value?

    @inlinable
    init() {}
  }

  @usableFromInline let state = Lock(State())

  /// Makes a place without a value.
  @inlinable
  public init() {}

  /// The identity of the place.
  @inlinable public var id: ObjectIdentifier { state.id }

  /// Whether a value was given.
  @inlinable public var isGiven: Bool { state.withLock { $0.isGiven } }

  /// Gives the value, unless one was given before, and wakes the task that waits for it.
  @inlinable
  public func give(_ value: consuming Value) { offer(value) }

  /// As ``give(_:)``; says whether the value is the first.
  @discardableResult
  @inlinable
  public func offer(_ value: consuming Value) -> Bool {
    let (isFirst, waiter) = settle(value)
    waiter?.wake()
    return isFirst
  }

  /// Gives the value, unless one was given before, and leaves it to the caller to wake the task that waits.
  @inlinable
  public func settle(_ value: consuming Value) -> (isFirst: Bool, waiter: Waiter?) {
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
  @inlinable
  public func take() -> Value? { state.withLock { $0.value.take() } }

  /// Suspends until a value was given, though another may have taken it by then. To be called once.
  @inlinable
  public func wait() async { await wait { $0.isGiven } }

  @inlinable
  func wait(until isOver: (State) -> Bool) async {
    await withUnsafeContinuation { continuation in
      if !keep(continuation, until: isOver) { continuation.resume() }
    }
  }

  /// False where the wait is over.
  @inlinable
  func keep(_ continuation: UnsafeContinuation<Void, Never>, until isOver: (State) -> Bool) -> Bool {
    state.withLock { state in
      if isOver(state) { return false }
      state.waiter = continuation
      return true
    }
  }

  /// Waits for the value and takes it. To be called once, and not beside ``take()``.
  @inlinable
  public func value() async -> Value {
    while true {
      if let value = take() { return value }
      await wait { $0.value != nil }
    }
  }
}
