// SPDX-License-Identifier: Apache-2.0

/// One value, given once, waited for by one.
package final class OneShot<Value: Sendable>: Sendable {
  private enum State {
    case open
    case awaited(CheckedContinuation<Value, Never>)
    case given(Value)
    case taken
  }

  private let state = Lock(State.open)

  package init() {}

  /// The first value counts.
  package func give(_ value: Value) {
    let waiter: CheckedContinuation<Value, Never>? = state.withLock { state in
      switch state {
      case .open:
        state = .given(value)
        return nil
      case .awaited(let continuation):
        state = .taken
        return continuation
      case .given, .taken: return nil
      }
    }
    waiter?.resume(returning: value)
  }

  /// To be called once.
  package func value() async -> Value {
    await withCheckedContinuation { continuation in
      let value: Value? = state.withLock { state in
        if case .given(let value) = state {
          state = .taken
          return value
        }
        state = .awaited(continuation)
        return nil
      }
      if let value { continuation.resume(returning: value) }
    }
  }
}
