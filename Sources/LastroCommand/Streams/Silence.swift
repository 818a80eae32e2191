// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// How long nothing has come.
final class Silence: Sendable {
  private struct State {
    var start = ContinuousClock.now
    var isOver = false
  }

  private let state = Lock(State())

  /// Whether it has lasted as long as it was to.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Something came.
  func isBroken() { state.withLock { $0.start = .now } }

  /// Waits until it has lasted so long from now on. False when the task is cancelled.
  func lasts(_ limit: Duration) async -> Bool {
    isBroken()
    while case let end = state.withLock({ $0.start }) + limit, end > .now {
      guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return false }
    }
    state.withLock { $0.isOver = true }
    return true
  }
}
