// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The parts of an event loop that its driver operates: a core, the reactor that the driver waits on, and the tasks
/// that run between turns. It has no thread of its own.
///
/// Owner: a driver, which is ``LoopThread`` in production and a test's own thread in a simulation.
final class LoopTurner {
  private let core: LoopCore
  private let reactor: any Reactor
  private let parts: LoopParts
  /// The memory for the parts of tasks that run after a turn.
  private var tasks: [LoopTask] = []

  /// - Parameter prepare: opens engines before the first turn, and returns the guest.
  init(_ reactor: any Reactor, _ parts: LoopParts, prepare: (LoopCore) -> (any LoopGuest)?) {
    self.reactor = reactor
    self.parts = parts
    core = LoopCore(LoopContext(inbox: parts.inbox, time: parts.time), reactor, prepare)
    parts.seat.withLock { [core] in $0 = core }
  }

  /// Returns the time until which the driver may wait (``LoopCore/nextDue()``); `nil` if the loop has ended.
  func nextDue() -> Int64? { parts.seat.withLock { $0?.nextDue() } }

  /// Performs a turn, and then runs the queued parts of tasks (``LoopTask``). Parts that they add run after the next
  /// turn, so that connections are served in between.
  ///
  /// - Parameter readyCount: the number of events that the reactor's wait returned. Another thread may have taken the
  ///   seat during that wait.
  func turn(_ readyCount: Int) {
    parts.seat.withLock { $0?.turn(readyCount) }
    parts.inbox.takeTasks(into: &tasks)
    for task in tasks { task.job.runSynchronously(on: task.executor) }
    tasks.removeAll(keepingCapacity: true)
  }

  /// Waits, and performs a turn. Returns false if the loop has ended.
  func turn() -> Bool {
    guard let due = nextDue() else { return false }
    turn(reactor.wait(until: due))
    return true
  }

  /// Releases the resources of the loop, and runs the remaining parts of tasks on the global executor. No function is
  /// called afterwards.
  func end() {
    parts.seat.withLock { $0 = nil }
    core.close()
    parts.inbox.takeTasks(into: &tasks)
    for task in tasks { task.runElsewhere() }
    tasks = []
  }
}
