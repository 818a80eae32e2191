// SPDX-License-Identifier: Apache-2.0

import LastroSupport

@testable import Lastro

/// A clock for one simulated call: sleeps move it, and hooks that take time move it, but never past a limit that is being
/// watched without that limit's being noticed first.
final class SimulatedClock: Sendable {
  private struct Watch {
    var deadline: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now = Duration.zero
    var sleeps: [Duration] = []
    var watches: [Int: Watch] = [:]
    var cancelled: Set<Int> = []
    var nextID = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
    var hanging: [AsyncStream<Void>.Continuation] = []
    var isClosed = false
  }

  /// 2026-01-01 00:00:00.25 UTC: no full second, so that rounding shows.
  static let epoch = Duration.seconds(1_767_225_600) + .milliseconds(250)

  private let state = Lock(State())
  /// Called when a sleep begins, with its index.
  private let onSleep: @Sendable (Int) -> Void

  init(onSleep: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.onSleep = onSleep
  }

  var now: Duration { state.withLock { $0.now } }
  var sleeps: [Duration] { state.withLock { $0.sleeps } }
  var isClosed: Bool { state.withLock { $0.isClosed } }

  var source: TimeSource {
    TimeSource(
      now: { self.now }, sleep: { try await self.sleep($0) }, limit: { try await self.watch($0) },
      sinceEpoch: { Self.epoch + self.now })
  }

  func advance(by duration: Duration) { advance(to: now + max(.zero, duration)) }

  private func advance(to instant: Duration) {
    let due = state.withLock { state in
      state.now = max(state.now, instant)
      let due = state.watches.filter { $0.value.deadline <= state.now }
      for id in due.keys { state.watches[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }

  private func sleep(_ duration: Duration) async throws {
    let index = state.withLock { state in
      state.sleeps.append(duration)
      return state.sleeps.count - 1
    }
    onSleep(index)
    try Task.checkCancellation()
    advance(by: duration)
  }

  private func watch(_ duration: Duration) async throws {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { begin(id, duration, $0) }
    } onCancel: {
      let watch = state.withLock { state in
        let watch = state.watches.removeValue(forKey: id)
        if watch == nil { state.cancelled.insert(id) }
        return watch
      }
      watch?.continuation.resume(throwing: CancellationError())
    }
  }

  private func begin(_ id: Int, _ duration: Duration, _ continuation: CheckedContinuation<Void, any Error>) {
    let (result, waiters) = state.withLock { state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
      if state.cancelled.contains(id) { return (.failure(CancellationError()), []) }
      if duration <= .zero { return (.success(()), []) }
      state.watches[id] = Watch(deadline: state.now + duration, continuation: continuation)
      defer { state.waiters = [] }
      return (nil, state.waiters)
    }
    if let result { continuation.resume(with: result) }
    for waiter in waiters { waiter.resume() }
  }

  /// Takes time in a hook.
  ///
  /// - Parameters:
  ///   - duration: `nil` for ever, which needs a limit.
  ///   - isLimited: whether the hook is being waited for with a limit.
  ///   - heeds: whether it returns when it is cancelled.
  /// - Returns: false when the limit passed first.
  func elapse(_ duration: Duration?, isLimited: Bool, heeds: Bool) async -> Bool {
    guard isLimited else {
      advance(by: duration ?? .zero)
      return true
    }
    await waitForWatch()
    let limit = state.withLock { $0.watches.values.map(\.deadline).min() }
    if let duration, let limit, now + duration < limit {
      advance(by: duration)
      return true
    }
    if let limit { advance(to: limit) }
    await hang(heeds: heeds)
    return false
  }

  /// Until cancelled, for who heeds that, or the clock is closed.
  func hang(heeds: Bool) async {
    let (never, hold) = AsyncStream.makeStream(of: Void.self)
    let isClosed = state.withLock { state in
      state.hanging.append(hold)
      return state.isClosed
    }
    if isClosed { return }
    if heeds {
      for await _ in never {}
    } else {
      await Task { for await _ in never {} }.value
    }
  }

  private func waitForWatch() async {
    await withCheckedContinuation { continuation in
      let isDue = state.withLock { state in
        if state.isClosed || !state.watches.isEmpty { return true }
        state.waiters.append(continuation)
        return false
      }
      if isDue { continuation.resume() }
    }
  }

  /// The call is over: lets everybody go.
  func close() {
    let (waiters, hanging) = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [] }
      return (state.waiters, state.hanging)
    }
    for waiter in waiters { waiter.resume() }
    for hold in hanging { hold.finish() }
  }
}
