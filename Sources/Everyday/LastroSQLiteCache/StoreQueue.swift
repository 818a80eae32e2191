// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// Runs blocking work, one item after another, on a thread of its own, which exists only while there is work.
final class StoreQueue: Sendable {
  /// The maximum number of waiting items; more are rejected, because a disk that slow is useless to a cache.
  private static let maximumWaiting = 4_096

  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isRunning = false
  }

  private let state = Lock(State())

  /// Runs `body` after the work that was submitted before.
  ///
  /// - Returns: its value; `nil` if too much work is waiting.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
    let answer = OneAnswer<Value>()
    return submit({ answer.give(body()) }) ? await answer.value() : nil
  }

  private func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
    let (isTaken, mustStart) = state.withLock { state in
      guard state.waiting.count < Self.maximumWaiting else { return (false, false) }
      state.waiting.append(work)
      if state.isRunning { return (true, false) }
      state.isRunning = true
      return (true, true)
    }
    guard mustStart else { return isTaken }
    if DetachedThread.start({ self.drain() }) == 0 { return true }
    // If no thread can be started, do the work on this thread, so that no caller waits forever.
    drain()
    return true
  }

  private func drain() {
    while true {
      let batch = state.withLock { state in
        defer { state.waiting = [] }
        if state.waiting.isEmpty { state.isRunning = false }
        return state.waiting
      }
      if batch.isEmpty { return }
      for work in batch { work() }
    }
  }
}
