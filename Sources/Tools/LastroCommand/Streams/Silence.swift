// SPDX-License-Identifier: Apache-2.0

import LastroSupport

/// The time since the last activity.
final class Silence: Sendable {
  private struct State {
    var start = ContinuousClock.now
    var isOver = false
  }

  private let state = Lock(State())

  /// Whether the silence has reached its limit.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Records activity, which restarts the measurement.
  func isBroken() { state.withLock { $0.start = .now } }

  /// Waits until the silence has lasted as long as the limit, counted from now. Returns false if the task is cancelled.
  func lasts(_ limit: Duration) async -> Bool {
    isBroken()
    while case let end = state.withLock({ $0.start }) + limit, end > .now {
      guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return false }
    }
    state.withLock { $0.isOver = true }
    return true
  }
}
