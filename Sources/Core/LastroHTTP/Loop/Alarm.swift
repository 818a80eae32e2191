// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A timer that calls its owner once when its time has come. Setting a later time costs nothing, and setting an earlier
/// one starts another task.
final class Alarm: Sendable {
  private struct State {
    var due: Duration?
    var task: Task<Void, Never>?
    var generation = 0
    var isOver = false
  }

  private let time: TimeSource
  /// Calls the owner with the current time.
  private let fire: @Sendable (Duration) -> Void
  private let state = Lock(State())

  init(_ time: TimeSource, fire: @escaping @Sendable (Duration) -> Void) {
    self.time = time
    self.fire = fire
  }

  /// Sets the time of the next call, unless an earlier time is set.
  func set(_ due: Duration) {
    let old: Task<Void, Never>? = state.withLock { state in
      if state.isOver { return nil }
      if let known = state.due, known <= due { return nil }
      state.due = due
      state.generation += 1
      let old = state.task
      state.task = Task { [self, generation = state.generation] in await run(generation, until: due) }
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

  private func run(_ generation: Int, until due: Duration) async {
    let left = due - time.now()
    if left > .zero {
      do { try await time.limit(left.countable) } catch { return }
    }
    // A test clock may let a limit pass without advancing.
    if begin(generation) { fire(max(time.now(), due)) }
  }

  /// Returns whether the owner must be called now. A time that is set while the owner is called starts another task.
  private func begin(_ generation: Int) -> Bool {
    state.withLock { state in
      guard state.generation == generation, !state.isOver else { return false }
      state.due = nil
      state.task = nil
      return true
    }
  }
}
