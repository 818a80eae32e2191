// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A timer that calls its owner when its time has come. The owner returns the time of the next call. Setting a later
/// time costs nothing, and setting an earlier one starts another task.
final class Alarm: Sendable {
  private struct State {
    var due: Duration?
    var task: Task<Void, Never>?
    var generation = 0
    var isOver = false
  }

  private let time: TimeSource
  /// Calls the owner with the current time, and returns the time of the next call; `nil` for none.
  private let fire: @Sendable (Duration) -> Duration?
  private let state = Lock(State())

  init(_ time: TimeSource, fire: @escaping @Sendable (Duration) -> Duration?) {
    self.time = time
    self.fire = fire
  }

  /// Sets the time of the next call, unless an earlier time is set. `nil` changes nothing.
  ///
  /// - Parameter length: the length of the limit that ends at `due`, if it begins now. Test clocks identify limits by
  ///   their length.
  func set(_ due: Duration?, in length: Duration? = nil) {
    guard let due else { return }
    let old: Task<Void, Never>? = state.withLock { state in
      if state.isOver { return nil }
      if let known = state.due, known <= due { return nil }
      state.due = due
      state.generation += 1
      let old = state.task
      state.task = Task { [self, generation = state.generation] in await run(generation, until: due, in: length) }
      return old
    }
    old?.cancel()
  }

  /// Cancels the timer. A call that has begun completes, and no other follows.
  func cancel() {
    let task = state.withLock { state in
      state.isOver = true
      defer { state.task = nil }
      return state.task
    }
    task?.cancel()
  }

  private func run(_ generation: Int, until first: Duration, in length: Duration?) async {
    var due = first
    var length = length
    while true {
      let left = length ?? due - time.now()
      length = nil
      if left > .zero {
        do { try await time.limit(left.countable) } catch { return }
      }
      guard begin(generation) else { return }
      // A test clock may let a limit pass without advancing.
      let next = fire(max(time.now(), due))
      let isNext = state.withLock { state in
        guard state.generation == generation, !state.isOver, state.due == nil || next != nil else { return false }
        state.due = next
        if next == nil { state.task = nil }
        return next != nil
      }
      guard isNext, let next else { return }
      due = next
    }
  }

  /// Returns whether the owner must be called now. A time that is set while the owner is called starts another task.
  private func begin(_ generation: Int) -> Bool {
    state.withLock { state in
      guard state.generation == generation, !state.isOver else { return false }
      state.due = nil
      return true
    }
  }
}
