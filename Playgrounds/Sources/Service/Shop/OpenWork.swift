// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The requests in progress, and whether more are accepted.
final class OpenWork: Sendable {
  private struct State {
    var count = 0
    var isClosing = false
  }

  private let state = Mutex(State())
  private let done: AsyncStream<Never>
  private let ending: AsyncStream<Never>.Continuation

  init() { (done, ending) = AsyncStream.makeStream() }

  var isClosing: Bool { state.withLock { $0.isClosing } }

  /// Counts a new request. Returns false if no more requests are accepted.
  func begin() -> Bool {
    state.withLock { state in
      if !state.isClosing { state.count += 1 }
      return !state.isClosing
    }
  }

  func end() {
    let isLast = state.withLock { state in
      state.count -= 1
      return state.isClosing && state.count == 0
    }
    if isLast { ending.finish() }
  }

  /// Stops accepting requests.
  func close() {
    let isIdle = state.withLock { state in
      state.isClosing = true
      return state.count == 0
    }
    if isIdle { ending.finish() }
  }

  /// Waits until the requests that were in progress at the call of `close` have ended.
  func finish() async { for await _ in done {} }
}
