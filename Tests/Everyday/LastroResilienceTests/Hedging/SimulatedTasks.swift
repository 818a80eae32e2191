// SPDX-License-Identifier: Apache-2.0

import LastroSupport
import LastroTesting

/// An executor that runs tasks on simulated time and one thread, so that every run has the same order. Ready tasks run
/// in turn, and time jumps when no task is ready. A task may wait only for limits of the executor's clock.
final class SimulatedTasks: TaskExecutor {
  let clock = ManualClock()
  private let ready = Lock<(jobs: [UnownedJob], head: Int)>(([], 0))

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    ready.withLock { $0.jobs.append(job) }
  }

  /// Runs an operation to its end and returns its value, or `nil` if it waits for an event that never comes.
  func run<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) -> Value? {
    let value = Lock<Value?>(nil)
    let task = Task(executorPreference: self) {
      let made = await operation()
      value.withLock { $0 = made }
    }
    settle()
    while value.withLock({ $0 == nil }), let next = clock.nextLimit {
      clock.advance(by: next - clock.now)
      settle()
    }
    task.cancel()
    settle()
    return value.withLock { $0 }
  }

  private func settle() {
    while let job = take() { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }

  private func take() -> UnownedJob? {
    ready.withLock { ready in
      guard ready.head < ready.jobs.count else {
        ready = ([], 0)
        return nil
      }
      ready.head += 1
      return ready.jobs[ready.head - 1]
    }
  }
}
