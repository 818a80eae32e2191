// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import Synchronization

/// A clock that slows down with this process: each tick counts as 10 ms, no matter how late it comes.
///
/// On a busy machine every operation takes longer, but not by this clock, so other programs do not cause timeouts. The
/// load may advance the clock, so that a minute passes for breakers and caches while no real time passes.
final class LoadClock: Sendable {
  private static let tick = Duration.milliseconds(10)

  private struct State {
    var now = Duration.zero
    var latestTick = Duration.zero
    var sleepers: [Int: (end: Duration, continuation: CheckedContinuation<Void, Never>)] = [:]
    var count = 0
  }

  private let state = Mutex(State())
  private let start = Duration.seconds(Date().timeIntervalSince1970)

  /// The longest delay of a tick.
  var latestTick: Duration { state.withLock { $0.latestTick } }

  /// Runs the clock until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      let asked = ContinuousClock.now
      try? await Task.sleep(for: Self.tick)
      let late = asked.duration(to: .now) - Self.tick
      state.withLock { $0.latestTick = max($0.latestTick, late) }
      pass(Self.tick)
    }
  }

  /// Advances the clock.
  func pass(_ duration: Duration) {
    let due = state.withLock { state in
      state.now += duration
      let now = state.now
      let due = state.sleepers.filter { $0.value.end <= now }
      for id in due.keys { state.sleepers[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }

  func sleep(_ duration: Duration) async throws {
    let id = state.withLock { state in
      state.count += 1
      return state.count
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if Task.isCancelled || duration <= .zero { return true }
          state.sleepers[id] = (state.now + duration, continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id) }?.continuation.resume()
    }
    try Task.checkCancellation()
  }

  var source: TimeSource {
    TimeSource(
      now: { self.state.withLock { $0.now } }, sleep: { try await self.sleep($0) },
      sinceEpoch: { self.start + self.state.withLock { $0.now } })
  }
}
