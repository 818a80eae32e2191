// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The requests that are being answered, and whether there may be more.
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

  /// Returns whether one more is taken.
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

  /// Takes no more.
  func close() {
    let isIdle = state.withLock { state in
      state.isClosing = true
      return state.count == 0
    }
    if isIdle { ending.finish() }
  }

  /// Waits for the requests that there are when it is closed.
  func finish() async { for await _ in done {} }
}
