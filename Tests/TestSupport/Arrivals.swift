// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// What happened, for those who wait for it.
package final class Arrivals: Sendable {
  private struct State {
    var texts: [String] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Lock(State())

  package init() {}

  package var texts: [String] { state.withLock { $0.texts } }

  package func add(_ text: String) {
    let ready = state.withLock { state in
      state.texts.append(text)
      let ready = state.waiters.filter { $0.count <= state.texts.count }
      state.waiters.removeAll { $0.count <= state.texts.count }
      return ready
    }
    for waiter in ready { waiter.continuation.resume() }
  }

  package func wait(count: Int) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.texts.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }
}
