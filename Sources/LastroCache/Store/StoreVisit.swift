// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// One fetch's use of the store: it waits a second for it in all, and at most half of what is left of its deadline, so
/// that the server can still be asked. Once it has waited in vain it goes on without.
struct StoreVisit: Sendable {
  private struct State {
    /// How long the store is still waited for; `nil` without a limit.
    var patience: Duration?
    var isOver = false
  }

  let access: StoreAccess
  let time: TimeSource
  /// When the fetch began, by the monotonic clock.
  let start: Duration
  /// How long the fetch may take.
  let deadline: Duration?
  private let state: Lock<State>

  init(
    _ access: StoreAccess, patience: Duration? = StoreAccess.patience, time: TimeSource = .continuous,
    start: Duration = .zero, deadline: Duration? = nil
  ) {
    self.access = access
    self.time = time
    self.start = start
    self.deadline = deadline
    state = Lock(State(patience: patience))
  }

  /// Asks the store; `nil` where it is not waited for.
  @discardableResult
  func ask<Value: Sendable>(_ body: @escaping @Sendable (any HTTPCacheStore) async -> Value) async -> Value? {
    let (patience, isOver) = state.withLock { ($0.patience, $0.isOver) }
    if isOver { return nil }
    let begin = time.now()
    let share = deadline.map { max(.zero, $0 - (begin - start)) / 2 }
    let limit = [patience, share].compactMap(\.self).min()
    // A call that is given no time would be taken for one that hangs.
    guard limit != .zero else { return nil }
    let value = await access.ask(within: limit, time, body)
    let waited = time.now() - begin
    state.withLock { state in
      if value == nil { state.isOver = true }
      state.patience = state.patience.map { max(.zero, $0 - waited) }
    }
    return value
  }

  /// As it was when it began: for a body, each piece of which is waited for.
  var renewed: StoreVisit { StoreVisit(access, time: time, start: start, deadline: deadline) }
}
