// SPDX-License-Identifier: Apache-2.0

package import LastroSupport

extension Watched {
  /// Waits until the state meets a condition, `limit` has passed, or the task is cancelled.
  package func wait(
    within limit: Duration?, time: TimeSource, until isMet: @escaping @Sendable (State) -> Bool
  ) async -> Result<Void, Interruption> {
    let outcome = await interruptible(within: limit, time: time) { [self] in _ = await wait(until: isMet) }
    return Task.isCancelled ? .failure(.cancelled) : outcome
  }
}
