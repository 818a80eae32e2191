// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import Synchronization

/// A clock that goes no faster than this process gets to run: each tick counts for 10 ms, however late it comes.
///
/// On a busy machine everything takes longer, and by this clock as long as ever, so that no limit passes because of
/// other programs. The load may move it ahead, so that a minute passes for breakers and caches, and none for the one
/// who watches.
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

  /// How late the latest of the clock's ticks came.
  var latestTick: Duration { state.withLock { $0.latestTick } }

  /// Goes on until the task is cancelled.
  func run() async {
    while !Task.isCancelled {
      let asked = ContinuousClock.now
      try? await Task.sleep(for: Self.tick)
      let late = asked.duration(to: .now) - Self.tick
      state.withLock { $0.latestTick = max($0.latestTick, late) }
      pass(Self.tick)
    }
  }

  /// Moves the clock ahead.
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
