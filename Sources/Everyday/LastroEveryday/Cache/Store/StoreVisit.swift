// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// The access of one fetch to the store. The fetch waits at most one second in total, and each time at most half of the
/// time left until its deadline, so that there is time to ask the server. If the store does not respond in time, the
/// fetch proceeds without it.
struct StoreVisit: Sendable {
  private struct State {
    /// The remaining time for waiting; `nil` for no limit.
    var patience: Duration?
    var isOver = false
  }

  let access: StoreAccess
  let time: TimeSource
  /// The start of the fetch, by the monotonic clock.
  let start: Duration
  /// The time that the fetch may take.
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

  /// Calls the store; returns `nil` if the fetch no longer waits for it, or waited in vain.
  @discardableResult
  func ask<Value: Sendable>(_ body: @escaping @Sendable (any HTTPCacheStore) async -> Value) async -> Value? {
    let (patience, isOver) = state.withLock { ($0.patience, $0.isOver) }
    if isOver { return nil }
    let begin = time.now()
    let share = deadline.map { max(.zero, $0 - (begin - start)) / 2 }
    let limit = [patience, share].compactMap(\.self).min()
    // A call with a zero limit would be mistaken for one that hangs.
    guard limit != .zero else { return nil }
    let value = await access.ask(within: limit, time, body)
    let waited = time.now() - begin
    state.withLock { state in
      if value == nil { state.isOver = true }
      state.patience = state.patience.map { max(.zero, $0 - waited) }
    }
    return value
  }

  /// A visit with its full time to wait, for each piece of a body.
  var renewed: StoreVisit { StoreVisit(access, time: time, start: start, deadline: deadline) }
}
