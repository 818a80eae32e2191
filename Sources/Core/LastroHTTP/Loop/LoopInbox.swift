// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc
internal import Lastro
internal import LastroSupport

/// A command of another thread for the loop thread.
enum LoopCommand: Sendable {
  /// Begin the job, or queue it.
  case start(EngineJob)
  /// End it at any stage. Its caller has the result already.
  case cancel(EngineJob)
  /// The reader took the buffered bytes: continue receiving.
  case resumeReceiving(EngineJob)
  /// The writer has more bytes: continue sending.
  case resumeSending(EngineJob)
  /// A command for a part of the loop.
  case guest(any GuestCommand)
  /// Take no more jobs; end when none is left, or at once.
  case shutDown(cancelling: Bool)
}

/// The queue in front of the loop thread: a lock, an array, and an eventfd written only when the loop sleeps.
///
/// The loop notes under the lock that it is going to sleep, and only if the queue is empty; a thread that posts
/// afterwards sees it under the same lock, and wakes it. The eventfd is never read: the poller watches its edges, and
/// every write is one.
package final class LoopInbox: Sendable {
  private struct State {
    var commands: [LoopCommand] = []
    /// Parts of tasks to run on the loop's thread.
    var tasks: [LoopTask] = []
    var isClosed = false
    /// The loop waits for descriptors, or is about to, and no thread has written the eventfd since.
    var isSleeping = false
    /// Whether the first queued command ended that wait.
    var wakes = false
  }

  private let state = Lock(State())
  /// The eventfd; negative where the loop's driver never sleeps.
  let wakeDescriptor: Int32

  /// Makes the inbox of a loop that sleeps; `nil`, with the reason in `errno`, where there is no descriptor for it.
  convenience init?() {
    let descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard descriptor >= 0 else { return nil }
    self.init(waking: descriptor)
  }

  /// Makes the inbox of a loop that its caller turns: there is no thread to wake.
  static func ofCaller() -> LoopInbox { LoopInbox(waking: -1) }

  private init(waking descriptor: Int32) { wakeDescriptor = descriptor }

  deinit { if wakeDescriptor >= 0 { close(wakeDescriptor) } }

  /// Hands a command over. False when the loop has ended, and will not act on it.
  func post(_ command: LoopCommand) -> Bool {
    post { state in
      state.commands.append(command)
      state.wakes = state.wakes || state.isSleeping
    }
  }

  /// Hands a command for a part of the loop over, as ``post(_:)-(LoopCommand)``.
  package func post(_ command: any GuestCommand) -> Bool { post(.guest(command)) }

  /// The same for a part of a task.
  func post(_ task: LoopTask) -> Bool {
    post { $0.tasks.append(task) }
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

  /// Returns `nil` where the queue is empty: the loop may wait, and a thread that posts from now on wakes it.
  /// Otherwise the number of commands in it. Loop thread only.
  func prepareToSleep() -> Int? {
    state.withLock { state in
      state.wakes = false
      state.isSleeping = state.commands.isEmpty && state.tasks.isEmpty
      return state.isSleeping ? nil : state.commands.count
    }
  }

  /// Notes that the loop is awake. Returns whether the first queued command has written the eventfd. Loop thread only.
  func noteAwake() -> Bool {
    state.withLock { state in
      state.isSleeping = false
      return state.wakes
    }
  }

  /// Takes everything, leaving `spare`'s storage for the next batch. Loop thread only.
  func take(into spare: inout [LoopCommand]) {
    spare.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.commands, &spare) }
  }

  /// Takes the parts of tasks, as ``take(into:)`` takes commands. Loop thread only.
  func takeTasks(into spare: inout [LoopTask]) {
    spare.removeAll(keepingCapacity: true)
    state.withLock { swap(&$0.tasks, &spare) }
  }

  /// Refuses commands from now on and gives back those it has not taken. Loop thread only.
  func close() -> [LoopCommand] {
    state.withLock { state in
      state.isClosed = true
      defer { state.commands = [] }
      return state.commands
    }
  }

  private func close(_ descriptor: Int32) { _ = Glibc.close(descriptor) }

  /// Ends the loop's wait for descriptors, without a command. Any thread.
  func endSleep() {
    let mustWake = state.withLock { state in
      defer { state.isSleeping = false }
      return state.isSleeping
    }
    if mustWake { wake() }
  }

  private func wake() {
    if wakeDescriptor < 0 { return }
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
  }
}
