// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A clock that only the test moves.
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
    /// By whether they wait for limits, or for those that sleep.
    var waiters: [Bool: CountWaiters] = [:]

    mutating func makeID() -> UInt64 {
      nextID += 1
      return nextID
    }

    /// Number of those that watch a limit, or of those that sleep.
    func sleeping(areLimits: Bool) -> Int { sleepers.values.lazy.filter { $0.isLimit == areLimits }.count }

    /// Takes those that are due, the earliest first.
    mutating func takeDue() -> [CheckedContinuation<Void, any Error>] {
      let due = sleepers.filter { $0.value.deadline <= now }
      for id in due.keys { sleepers[id] = nil }
      return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value.continuation)
    }
  }

  /// Whether every sleep returns at once, moving the clock by its length.
  public let autoAdvance: Bool
  private let state: Lock<State>

  /// Makes a clock.
  ///
  /// - Parameters:
  ///   - now: default zero.
  ///   - autoAdvance: every sleep returns at once, moving the clock by its length. Default false.
  public init(now: Duration = .zero, autoAdvance: Bool = false) {
    self.autoAdvance = autoAdvance
    state = Lock(State(now: now))
  }

  /// The clock as the pipeline takes it.
  public var timeSource: TimeSource {
    TimeSource(
      now: { self.now }, sleep: { try await self.sleep($0) }, limit: { try await self.waitForLimit($0) },
      sinceEpoch: { Self.epoch + self.now })
  }

  /// The date at time zero: 2001-09-09 01:46:40 UTC, a billion seconds since 1970.
  public static let epoch = Duration.seconds(1_000_000_000)

  /// The time that the clock shows. It moves only when a test moves it.
  public var now: Duration { state.withLock { $0.now } }

  /// The length of every sleep asked for, in order, cancelled ones included.
  public var sleeps: [Duration] { state.withLock { $0.sleeps } }

  /// Number of tasks asleep now; those that only watch a limit (`TimeSource.limit`) do not count.
  public var sleepers: Int { state.withLock { $0.sleeping(areLimits: false) } }

  /// The time at which the earliest limit passes that a task watches (`TimeSource.limit`); `nil` where none is watched.
  public var nextLimit: Duration? {
    state.withLock { $0.sleepers.values.lazy.filter(\.isLimit).map(\.deadline).min() }
  }

  /// Moves the clock forward and wakes those that are due, the earliest first. Those that then go back to sleep count
  /// from the new time. A negative duration does nothing.
  public func advance(by duration: Duration) {
    let due = state.withLock { state in
      state.now += max(.zero, duration)
      return state.takeDue()
    }
    for sleeper in due { sleeper.resume() }
  }

  /// Moves the clock to the end of the earliest sleep and wakes it. Limits are no sleeps, but wake when they are
  /// passed.
  ///
  /// - Returns: how far it moved; `nil` when no task sleeps.
  @discardableResult
  public func advanceToNextSleeper() -> Duration? {
    let (moved, due) = state.withLock { state -> (Duration?, [CheckedContinuation<Void, any Error>]) in
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

  /// Suspends until the clock has been moved by so much.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  public func sleep(_ duration: Duration) async throws {
    state.withLock { $0.sleeps.append(duration) }
    try Task.checkCancellation()
    if autoAdvance { return advance(by: duration) }
    try await suspend(duration, isLimit: false)
  }

  /// Suspends until the clock has been moved by so much, by advancing it or by the sleeps of others. It is not in
  /// ``sleeps`` and does not count as a sleeper.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  public func waitForLimit(_ duration: Duration) async throws { try await suspend(duration, isLimit: true) }

  private func suspend(_ duration: Duration, isLimit: Bool) async throws {
    let id = state.withLock { $0.makeID() }
    defer { state.withLock { _ = $0.cancelled.remove(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { beginSleep(id, duration, isLimit, $0) }
    } onCancel: {
      let sleeper = state.withLock { state in
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
    let (outcome, waiters) = state.withLock {
      state -> (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) in
      if state.cancelled.contains(id) { return (.failure(CancellationError()), []) }
      if duration <= .zero { return (.success(()), []) }
      state.sleepers[id] = Sleeper(deadline: state.now + duration, isLimit: isLimit, continuation: continuation)
      let count = state.sleeping(areLimits: isLimit)
      return (nil, state.waiters[isLimit]?.take(reached: count) ?? [])
    }
    if let outcome { continuation.resume(with: outcome) }
    for waiter in waiters { waiter.resume() }
  }

  /// Waits until so many tasks are asleep at the same time.
  ///
  /// - Throws: `CancellationError`.
  public func waitForSleepers(count: Int) async throws { try await wait(for: count, areLimits: false) }

  /// Waits until so many limits are watched at the same time (`TimeSource.limit`).
  ///
  /// Each limit that the pipeline watches counts as one. An event loop whose time is this
  /// clock, such as that of a `DialerTransport` with ``timeSource``, counts as one limit however many requests and
  /// connections it has: it watches the earliest of their limits alone. It counts as none while nothing on it has a
  /// limit, and it watches a later limit only when the earlier one has passed. To wait until a certain limit of a loop
  /// is watched, look at ``nextLimit``.
  ///
  /// - Throws: `CancellationError`.
  public func waitForLimits(count: Int) async throws { try await wait(for: count, areLimits: true) }

  private func wait(for count: Int, areLimits: Bool) async throws {
    let id = state.withLock { $0.makeID() }
    defer { state.withLock { $0.waiters[areLimits]?.forget(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          if state.sleeping(areLimits: areLimits) >= count { return .success(()) }
          let waiter = CountWaiters.Waiter(threshold: count, continuation: continuation)
          return state.waiters[areLimits, default: CountWaiters()].add(id, waiter)
            ? nil : .failure(CancellationError())
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.waiters[areLimits, default: CountWaiters()].cancel(id) }?
        .resume(throwing: CancellationError())
    }
  }
}
