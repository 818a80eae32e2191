// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// Runs what blocks, one after another, on a thread of its own, which is there as long as there is something to do.
final class StoreQueue: Sendable {
  /// What waits beyond that is not done: a disk that slow is of no use to a cache.
  private static let maximumWaiting = 4_096

  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var isRunning = false
  }

  private let state = Lock(State())

  /// Runs `body` behind what was given before.
  ///
  /// - Returns: its value; `nil` where there is too much to do, or the system starts no thread.
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
    // Without a thread of its own what is there is done here, so that none waits for ever.
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
