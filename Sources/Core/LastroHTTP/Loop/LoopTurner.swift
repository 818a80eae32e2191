// SPDX-License-Identifier: Apache-2.0

/// The parts of an event loop that its driver operates: a core, the reactor that the driver waits on, and the tasks
/// that run between turns. It has no thread of its own.
///
/// Owner: a driver, which is ``LoopThread`` in production and a test's own thread in a simulation.
final class LoopTurner {
  private let core: LoopCore
  private let reactor: any Reactor
  private let parts: LoopParts
  private var tasks = LoopTasks()

  /// - Parameter prepare: adds guests and engines before the first turn.
  init(_ reactor: any Reactor, _ parts: LoopParts, prepare: (LoopCore) -> Void) {
    self.reactor = reactor
    self.parts = parts
    let context = LoopContext(inbox: parts.inbox, time: parts.time, executor: LoopExecutor(parts.inbox))
    core = LoopCore(context, reactor, time: parts.time)
    prepare(core)
    parts.seat.take(core)
  }

  /// Returns how long the driver may wait; `nil` if the loop has ended.
  func nextWait() -> LoopWait? { parts.seat.turn { $0.nextWait() } ?? nil }

  /// Performs a turn, and then runs the queued parts of tasks (``LoopTask``).
  ///
  /// - Parameter readyCount: the number of events that the reactor's wait returned. Another thread may have taken the
  ///   ``LoopSeat`` during that wait.
  func turn(_ readyCount: Int) {
    parts.seat.turn { $0.turn(readyCount) }
    tasks.run(from: parts.inbox)
  }

  /// Waits, and performs a turn. Returns false if the loop has ended.
  func turn() -> Bool {
    guard let wait = nextWait() else { return false }
    turn(reactor.wait(wait))
    return true
  }

  /// Releases the resources of the loop. No function is called afterwards.
  func end() {
    parts.seat.leave()
    core.close()
    tasks.leave(parts.inbox)
  }
}
