// SPDX-License-Identifier: Apache-2.0

/// Runs tasks between the turns of the loop. Such a task begins a request, and resumes after the response, without a
/// switch to another thread.
extension EventLoop: TaskExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    let task = LoopTask(job: UnownedJob(job), executor: UnownedTaskExecutor(ordinary: self))
    if !inbox.post(task) { task.runElsewhere() }
  }
}

/// The executor of the loop's own tasks, which do not keep the loop alive.
final class LoopExecutor: TaskExecutor {
  private let inbox: LoopInbox

  init(_ inbox: LoopInbox) { self.inbox = inbox }

  func enqueue(_ job: consuming ExecutorJob) {
    let task = LoopTask(job: UnownedJob(job), executor: UnownedTaskExecutor(ordinary: self))
    if !inbox.post(task) { task.runElsewhere() }
  }
}

/// A part of a task, up to its next suspension.
struct LoopTask: Sendable {
  let job: UnownedJob
  let executor: UnownedTaskExecutor

  /// Runs the part on the global executor, because the task must complete although the loop has ended.
  func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
}

/// The parts of tasks that run after a turn. Thread: the loop's.
struct LoopTasks {
  private var tasks: [LoopTask] = []

  /// Runs the parts that are in the inbox now. Parts that they add run after the next turn, so that connections are
  /// served in between.
  mutating func run(from inbox: LoopInbox) {
    inbox.takeTasks(into: &tasks)
    if tasks.isEmpty { return }
    for task in tasks { task.job.runSynchronously(on: task.executor) }
    tasks.removeAll(keepingCapacity: true)
  }

  /// Runs the remaining parts of a closed inbox on the global executor.
  mutating func leave(_ inbox: LoopInbox) {
    inbox.takeTasks(into: &tasks)
    for task in tasks { task.runElsewhere() }
    tasks = []
  }
}
