// SPDX-License-Identifier: Apache-2.0

/// Runs tasks between the turns of the loop. Such a task begins a request, and resumes after the response, without a
/// switch to another thread.
extension EventLoop: TaskExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    inbox.post(LoopTask(job: UnownedJob(job), executor: UnownedTaskExecutor(ordinary: self)))
  }
}

/// Runs the loop's own tasks, which do not keep the loop alive.
extension LoopInbox: TaskExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    post(LoopTask(job: UnownedJob(job), executor: UnownedTaskExecutor(ordinary: self)))
  }
}

/// A part of a task, up to its next suspension.
struct LoopTask: Sendable {
  let job: UnownedJob
  let executor: UnownedTaskExecutor

  /// Runs the part on the global executor, because the task must complete although the loop has ended.
  func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
}
