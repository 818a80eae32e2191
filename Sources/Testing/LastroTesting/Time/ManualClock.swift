// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A clock that only a test advances.
///
/// ```swift
/// let clock = ManualClock()
/// async let answer = stack.fetch(resource)       // configured with clock.timeSource
/// try await clock.waitForSleepers(count: 1)      // it backs off
/// clock.advance(by: .seconds(2))                 // the wait is over
/// ```
public final class ManualClock: Sendable {
  private struct Sleeper {
    var deadline: Duration
    var isLimit: Bool
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now: Duration
    var sleeps: [Duration] = []
    var sleepers: [UInt64: Sleeper] = [:]
    var cancelled: Set<UInt64> = []
    var nextID: UInt64 = 0

    mutating func makeID() -> UInt64 {
      nextID += 1
      return nextID
    }

    /// Returns the number of tasks that watch a limit, or of those that sleep.
    func sleeping(areLimits: Bool) -> Int { sleepers.values.lazy.filter { $0.isLimit == areLimits }.count }

    /// Removes and returns the sleepers that are due, the earliest first.
    mutating func takeDue() -> [CheckedContinuation<Void, any Error>] {
      let due = sleepers.filter { $0.value.deadline <= now }
      for id in due.keys { sleepers[id] = nil }
      return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.continuation)
    }
  }

  /// Whether every sleep returns at once and advances the clock by its length.
  package let autoAdvance: Bool
  private let state: Watched<State>
  /// The time in which the patience of waits is measured.
  private let realTime: TimeSource

  /// Creates a clock.
  ///
  /// - Parameters:
  ///   - now: the initial time. Default zero.
  ///   - autoAdvance: whether every sleep returns at once and advances the clock by its length. Default false.
  public convenience init(now: Duration = .zero, autoAdvance: Bool = false) {
    self.init(now: now, autoAdvance: autoAdvance, realTime: .continuous)
  }

  /// Creates a clock whose waits for sleepers and limits measure their patience by another clock than the system's.
  package init(now: Duration = .zero, autoAdvance: Bool = false, realTime: TimeSource) {
    self.autoAdvance = autoAdvance
    self.realTime = realTime
    state = Watched(State(now: now))
  }

  /// The clock as a time source for the pipeline.
  public var timeSource: TimeSource {
    TimeSource(
      now: { self.now }, sleep: { try await self.sleep($0) }, limit: { try await self.waitForLimit($0) },
      sinceEpoch: { Self.epoch + self.now })
  }

  /// The date at time zero: 2001-09-09 01:46:40 UTC, a billion seconds since 1970.
  package static let epoch = Duration.seconds(1_000_000_000)

  /// The current time of the clock, which changes only when a test advances it.
  public var now: Duration { state.read { $0.now } }

  /// The lengths of all requested sleeps, in order, including cancelled ones.
  public var sleeps: [Duration] { state.read { $0.sleeps } }

  /// The number of sleeping tasks; tasks that only watch a limit (`TimeSource.limit`) do not count.
  package var sleepers: Int { state.read { $0.sleeping(areLimits: false) } }

  /// The earliest limit that a task watches (`TimeSource.limit`); `nil` if none is watched.
  public var nextLimit: Duration? {
    state.read { $0.sleepers.values.lazy.filter(\.isLimit).map(\.deadline).min() }
  }

  /// Advances the clock and wakes the sleepers that are due, the earliest first. Sleepers that then sleep again count
  /// from the new time. A negative duration has no effect.
  public func advance(by duration: Duration) {
    let due = state.change { state in
      state.now += max(.zero, duration)
      return state.takeDue()
    }
    for sleeper in due { sleeper.resume() }
  }

  /// Advances the clock to the end of the earliest sleep and wakes its sleeper. Limits do not count as sleeps, but
  /// tasks whose limit has passed are woken too.
  ///
  /// - Returns: the time by which the clock advanced; `nil` if no task sleeps.
  @discardableResult
  package func advanceToNextSleeper() -> Duration? {
    let (moved, due) = state.change { state -> (Duration?, [CheckedContinuation<Void, any Error>]) in
      guard let deadline = state.sleepers.values.lazy.filter({ !$0.isLimit }).map(\.deadline).min() else {
        return (nil, [])
      }
      let moved = deadline - state.now
      state.now = deadline
      return (moved, state.takeDue())
    }
    for sleeper in due { sleeper.resume() }
    return moved
  }

  /// Suspends until the clock has advanced by the given duration.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  package func sleep(_ duration: Duration) async throws {
    state.change { $0.sleeps.append(duration) }
    try Task.checkCancellation()
    if autoAdvance { return advance(by: duration) }
    try await suspend(duration, isLimit: false)
  }

  /// Suspends until the clock has advanced by the given duration, by a test or by the sleeps of others. The wait is not
  /// in ``sleeps``, and does not count as a sleeper.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  package func waitForLimit(_ duration: Duration) async throws { try await suspend(duration, isLimit: true) }

  private func suspend(_ duration: Duration, isLimit: Bool) async throws {
    let id = state.change { $0.makeID() }
    defer { state.change { _ = $0.cancelled.remove(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { beginSleep(id, duration, isLimit, $0) }
    } onCancel: {
      let sleeper = state.change { state in
        let sleeper = state.sleepers.removeValue(forKey: id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  private func beginSleep(
    _ id: UInt64, _ duration: Duration, _ isLimit: Bool, _ continuation: CheckedContinuation<Void, any Error>
  ) {
    let outcome: Result<Void, any Error>? = state.change { state in
      if state.cancelled.contains(id) { return .failure(CancellationError()) }
      if duration <= .zero { return .success(()) }
      state.sleepers[id] = Sleeper(deadline: state.now + duration, isLimit: isLimit, continuation: continuation)
      return nil
    }
    if let outcome { continuation.resume(with: outcome) }
  }

  /// Waits until the given number of tasks sleep at the same time.
  ///
  /// - Parameters:
  ///   - count: the number of tasks.
  ///   - patience: the longest wait, in real time. It ends a test whose code under test has failed before it sleeps.
  ///     Default 1 min; `nil` for no limit.
  /// - Throws: an error that says how many tasks sleep when the patience is over, and at once if `autoAdvance` is set,
  ///   because no task then ever sleeps; `CancellationError`.
  public func waitForSleepers(count: Int, within patience: Duration? = .seconds(60)) async throws {
    if autoAdvance, count > 0 { throw timeout(of: nil, count, areLimits: false) }
    try await wait(for: count, areLimits: false, within: patience)
  }

  /// Waits until the given number of limits is watched at the same time (`TimeSource.limit`).
  ///
  /// Each limit that the pipeline watches counts as one. An event loop that uses this clock, such as that of a
  /// `DialerTransport` with ``timeSource``, counts as one limit for any number of requests and connections, because it
  /// watches only the earliest of their limits. It counts as none while nothing on it has a limit, and it watches a
  /// later limit only when the earlier one has passed. To wait until a certain limit of a loop is watched, check
  /// ``nextLimit``.
  ///
  /// - Parameters:
  ///   - count: the number of limits.
  ///   - patience: the longest wait, in real time. It ends a test whose code under test has failed before it watches a
  ///     limit. Default 1 min; `nil` for no limit.
  /// - Throws: an error that says how many limits are watched when the patience is over; `CancellationError`.
  public func waitForLimits(count: Int, within patience: Duration? = .seconds(60)) async throws {
    try await wait(for: count, areLimits: true, within: patience)
  }

  private func wait(for count: Int, areLimits: Bool, within patience: Duration?) async throws {
    guard let patience else { return try await wait(for: count, areLimits: areLimits) }
    let outcome = await interruptible(within: patience, time: realTime) { [self] in
      _ = try? await wait(for: count, areLimits: areLimits)
    }
    switch outcome {
    case .success: return
    case .failure(.cancelled): throw CancellationError()
    case .failure(.limit): throw timeout(of: patience, count, areLimits: areLimits)
    }
  }

  private func timeout(of patience: Duration?, _ count: Int, areLimits: Bool) -> ManualClockTimeout {
    state.read { state in
      ManualClockTimeout(
        expected: count, areLimits: areLimits, patience: patience, sleepers: state.sleeping(areLimits: false),
        limits: state.sleeping(areLimits: true), requestedSleeps: state.sleeps.count)
    }
  }

  private func wait(for count: Int, areLimits: Bool) async throws {
    guard await state.wait(until: { $0.sleeping(areLimits: areLimits) >= count }) else { throw CancellationError() }
  }
}
