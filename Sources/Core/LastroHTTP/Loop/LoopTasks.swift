// SPDX-License-Identifier: Apache-2.0

/// Runs tasks between the turns of the loop. Such a task begins a request, and continues after its response, without a
/// word to another thread.
extension EventLoop: TaskExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    let task = LoopTask(job: UnownedJob(job), executor: UnownedTaskExecutor(ordinary: self))
    if !inbox.post(task) { task.runElsewhere() }
  }
}

/// The same for tasks of the loop's own, which do not keep it alive.
final class LoopExecutor: TaskExecutor {
  private let inbox: LoopInbox

  init(_ inbox: LoopInbox) { self.inbox = inbox }

  func enqueue(_ job: consuming ExecutorJob) {
    let task = LoopTask(job: UnownedJob(job), executor: UnownedTaskExecutor(ordinary: self))
    if !inbox.post(task) { task.runElsewhere() }
  }
}

/// A part of a task, up to where it waits.
struct LoopTask: Sendable {
  let job: UnownedJob
  let executor: UnownedTaskExecutor

  /// The loop has ended: the task must not.
  func runElsewhere() { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
}

/// The tasks of one turn. Thread: the loop's.
struct LoopTasks {
  private var tasks: [LoopTask] = []

  /// Runs those that lie in the inbox now. What they add is for the next turn: connections have theirs in between.
  mutating func run(from inbox: LoopInbox) {
    inbox.takeTasks(into: &tasks)
    if tasks.isEmpty { return }
    for task in tasks { task.job.runSynchronously(on: task.executor) }
    tasks.removeAll(keepingCapacity: true)
  }

  /// Runs the rest of a closed inbox elsewhere.
  mutating func leave(_ inbox: LoopInbox) {
    inbox.takeTasks(into: &tasks)
    for task in tasks { task.runElsewhere() }
    tasks = []
  }
}
