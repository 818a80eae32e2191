// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A dial that is under way.
final class PendingDial: Sendable {
  private struct State {
    var task: Task<Void, Never>?
    var isCancelled = false
  }

  /// The job that it was begun for.
  let job: ObjectIdentifier
  private let state = Lock(State())

  init(for job: ExchangeJob) { self.job = ObjectIdentifier(job) }

  /// Begins it. Not yet, it may have been given up.
  func run(_ dial: @escaping @Sendable () async -> Void) {
    let task = Task { await dial() }
    let isCancelled = state.withLock { state in
      state.task = task
      return state.isCancelled
    }
    if isCancelled { task.cancel() }
  }

  /// Whether it listens or not, its stream is not wanted.
  func cancel() {
    let task = state.withLock { state in
      state.isCancelled = true
      return state.task.take()
    }
    task?.cancel()
  }
}
