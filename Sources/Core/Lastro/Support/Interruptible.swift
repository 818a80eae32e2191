// SPDX-License-Identifier: Apache-2.0

package import LastroSupport

/// The reason why a wait was ended early.
package enum Interruption: Error {
  case cancelled
  case limit
}

/// Waits for an operation that may hang and may ignore cancellation. The operation runs in a task of its own. If the
/// wait ends early, that task is cancelled and not waited for. The operation starts on the caller's thread, so if it
/// blocks that thread, the caller waits.
///
/// - Parameters:
///   - limit: the longest wait; `nil` for no limit.
///   - ignoringCancellation: whether to wait even if the caller is cancelled. If it is already cancelled, the operation
///     runs in a cancelled task.
///   - time: the source of time for the limit.
package func interruptible<Value: Sendable>(
  within limit: Duration?, ignoringCancellation: Bool = false, time: TimeSource,
  _ operation: @escaping @Sendable () async -> Value
) async -> Result<Value, Interruption> {
  let race = OneAnswer<Result<Value, Interruption>>()
  // Most hooks return without suspending, so they need neither another thread nor a timer.
  let isLate = ignoringCancellation && Task.isCancelled
  // `immediate` runs it on this thread until it first suspends.
  let work = Task.immediate {
    if isLate { withUnsafeCurrentTask { $0?.cancel() } }
    race.give(.success(await operation()))
  }
  if let answer = race.take() { return answer }
  let timer = limit.map { limit in
    Task {
      do { try await time.limit(limit.countable) } catch { return }
      race.give(.failure(.limit))
    }
  }
  defer { timer?.cancel() }
  let answer: Result<Value, Interruption>
  if ignoringCancellation {
    answer = await race.value()
  } else {
    answer = await withTaskCancellationHandler {
      await race.value()
    } onCancel: {
      race.give(.failure(.cancelled))
    }
  }
  if case .failure = answer { work.cancel() }
  return answer
}

extension Watched {
  /// Waits until the state meets a condition, `limit` has passed, or the task is cancelled.
  package func wait(
    within limit: Duration?, time: TimeSource, until isMet: @escaping @Sendable (State) -> Bool
  ) async -> Result<Void, Interruption> {
    let outcome = await interruptible(within: limit, time: time) { [self] in _ = await wait(until: isMet) }
    return Task.isCancelled ? .failure(.cancelled) : outcome
  }
}
