// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc
internal import Lastro
internal import LastroSupport

/// A command from another thread for the loop's thread.
enum LoopCommand: Sendable {
  /// Begins the job, or queues it.
  case start(EngineJob)
  /// Ends the job at any stage. Its caller already has the result.
  case cancel(EngineJob)
  /// Continues receiving, because the reader has taken buffered bytes.
  case resumeReceiving(EngineJob)
  /// Continues sending, because the writer has more bytes.
  case resumeSending(EngineJob)
  /// Calls the closure, even after a shutdown and while the loop ends.
  case call(@Sendable (LoopCore) -> Void)
  /// Stops accepting jobs. The loop ends when no job is left; with `cancelling`, running jobs are cancelled.
  case shutDown(cancelling: Bool)
}

/// The queue of commands for the loop's thread: a lock, arrays, and an eventfd that is written only when the loop
/// sleeps.
///
/// The loop records under the lock that it is about to sleep, and only if the queue is empty. A thread that posts
/// afterwards finds that record under the same lock and wakes the loop. The eventfd is never read: the poller is
/// edge-triggered on it, and every write causes an event.
package final class LoopInbox: Sendable {
  private struct State {
    var commands: [LoopCommand] = []
    /// Parts of tasks that run on the loop's thread.
    var tasks: [LoopTask] = []
    var isClosed = false
    /// Whether the loop waits for descriptors, or is about to, and no thread has written the eventfd since.
    var isSleeping = false
    /// Whether the first queued command ended that wait.
    var wakes = false
  }

  private let state = Lock(State())
  /// The eventfd; negative if no thread sleeps that would have to be woken.
  let wakeDescriptor: Int32

  /// Creates the inbox of a loop that sleeps. Returns `nil`, with the reason in `errno`, if no descriptor is available.
  convenience init?() {
    let descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0 else { return nil }
    self.init(waking: descriptor)
  }

  init(waking descriptor: Int32) { wakeDescriptor = descriptor }

  deinit { if wakeDescriptor >= 0 { Glibc.close(wakeDescriptor) } }

  /// Posts a command. Returns false if the loop has ended and will not perform it.
  func post(_ command: LoopCommand) -> Bool {
    post { state in
      state.commands.append(command)
      state.wakes = state.wakes || state.isSleeping
    }
  }

  /// Makes the loop's thread call a closure, even after a shutdown and while the loop ends. Returns false if the loop
  /// has ended and will not call it.
  package func perform(_ body: @escaping @Sendable (LoopCore) -> Void) -> Bool { post(.call(body)) }

  /// Posts a part of a task, which runs elsewhere if the loop has ended.
  func post(_ task: LoopTask) {
    if !post({ $0.tasks.append(task) }) { task.runElsewhere() }
  }

  private func post(_ add: (inout State) -> Void) -> Bool {
    let (accepted, mustWake) = state.withLock { state in
      guard !state.isClosed else { return (false, false) }
      add(&state)
      defer { state.isSleeping = false }
      return (true, state.isSleeping)
    }
    if mustWake { wake() }
    return accepted
  }

  /// Returns `nil` if the queue is empty: the loop may then wait, and a thread that posts from now on wakes it.
  /// Otherwise returns the number of queued commands. Loop thread only.
  func prepareToSleep() -> Int? {
    state.withLock { state in
      state.wakes = false
      state.isSleeping = state.commands.isEmpty && state.tasks.isEmpty
      return state.isSleeping ? nil : state.commands.count
    }
  }

  /// Records that the loop is awake. Returns whether the first queued command has written the eventfd. Loop thread
  /// only.
  func markAwake() -> Bool {
    state.withLock { state in
      state.isSleeping = false
      return state.wakes
    }
  }

  /// Takes all commands, and leaves the storage of `spare`, which is empty, for the next batch. Loop thread only.
  func takeCommands(into spare: inout [LoopCommand]) {
    state.withLock { swap(&$0.commands, &spare) }
  }

  /// Takes the parts of tasks, as ``takeCommands(into:)`` takes commands. Loop thread only.
  func takeTasks(into spare: inout [LoopTask]) {
    state.withLock { swap(&$0.tasks, &spare) }
  }

  /// Refuses commands from now on, and returns the commands that were not taken. Loop thread only.
  func close() -> [LoopCommand] {
    state.withLock { state in
      state.isClosed = true
      defer { state.commands = [] }
      return state.commands
    }
  }

  /// Ends the loop's wait for descriptors without a command. Any thread may call it.
  func endSleep() { _ = post { _ in } }

  private func wake() {
    if wakeDescriptor < 0 { return }
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
  }
}
