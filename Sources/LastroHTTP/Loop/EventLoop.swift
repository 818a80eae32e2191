// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
package import Lastro
internal import LastroSupport

#if canImport(Glibc)
  internal import Glibc
#endif

/// The face of one loop thread. The thread ends when the last reference to this object is gone and its exchanges are,
/// so nothing has to be shut down.
package final class EventLoop: Sendable {
  package let inbox: LoopInbox
  package let seat: LoopSeat
  private let thread: LoopThread
  private let time: LoopTime
  private let finished: Watched<Bool>

  /// Starts a loop.
  ///
  /// - Parameters:
  ///   - time: measures limits. Default: the system's clock.
  ///   - prepare: adds guests, on the loop's thread, before the first turn. Default: none.
  package init(
    time: LoopTime = .monotonic, _ prepare: @escaping @Sendable (LoopCore) -> Void = { _ in }
  ) throws(ConfigurationError) {
    guard let inbox = LoopInbox() else {
      throw .noInbox(errno)
    }
    self.inbox = inbox
    self.time = time
    finished = Watched(false)
    seat = LoopSeat()
    thread = LoopThread()
    let seed = LoopSeed(
      time: time, inbox: inbox, seat: seat, thread: thread, finished: finished, prepare: prepare)
    guard seed.launch() else {
      throw .noLoop(errno)
    }
    DispatchDescriptors.open()
  }

  deinit { _ = inbox.post(.shutDown(cancelling: true)) }

  /// The time by which the loop measures limits.
  package var now: Int64 { time.now }

  /// False when the loop has ended.
  func post(_ command: LoopCommand) -> Bool { inbox.post(command) }

  /// Hands a command for a part of the loop over. False when the loop has ended.
  package func post(_ command: any GuestCommand) -> Bool { inbox.post(.guest(command)) }

  /// Takes no more jobs: the thread ends when none is left.
  ///
  /// - Parameter cancelling: whether running jobs are cancelled (code `shut_down`) instead of awaited.
  package func shutDown(cancelling: Bool) { _ = inbox.post(.shutDown(cancelling: cancelling)) }

  /// Whether the calling thread is the loop's.
  package var isCurrent: Bool { thread.isCurrent }

  /// Suspends until the thread has ended. In a task of its own: the cancellation of the caller does not end the wait.
  package func waitUntilFinished() async { _ = await Task { [finished] in await finished.wait { $0 } }.value }
}

extension EventLoop {
  private final class Reference {
    weak var loop: EventLoop?
  }

  private static let latest = Lock(Reference())

  /// Returns the loop of transports that have none below them: started with its first user, ended with its last.
  static func shared() throws(ConfigurationError) -> EventLoop {
    let result: Result<EventLoop, ConfigurationError> = latest.withLock { latest in
      if let loop = latest.loop { return .success(loop) }
      do throws(ConfigurationError) {
        let loop = try EventLoop()
        latest.loop = loop
        return .success(loop)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

/// The parts that the loop thread starts with. It holds the inbox and not the ``EventLoop``, whose end stops the
/// thread.
private final class LoopSeed: Sendable {
  let time: LoopTime
  let inbox: LoopInbox
  let seat: LoopSeat
  let thread: LoopThread
  let finished: Watched<Bool>
  let prepare: @Sendable (LoopCore) -> Void

  init(
    time: LoopTime, inbox: LoopInbox, seat: LoopSeat, thread: LoopThread, finished: Watched<Bool>,
    prepare: @escaping @Sendable (LoopCore) -> Void
  ) {
    self.time = time
    self.inbox = inbox
    self.seat = seat
    self.thread = thread
    self.finished = finished
    self.prepare = prepare
  }

  func launch() -> Bool {
    guard let poller = Poller() else { return false }
    // The poller goes to the new thread here, and this side keeps no reference to it.
    let start = LoopStart(seed: self, poller: poller)
    let code = DetachedThread.start {
      nameThread("lastro-loop")
      start.run()
    }
    guard code == 0 else {
      errno = code
      return false
    }
    return true
  }
}

private final class LoopStart {
  private let seed: LoopSeed
  private var poller: Poller?

  init(seed: LoopSeed, poller: Poller) {
    self.seed = seed
    self.poller = poller
  }

  func run() {
    seed.thread.begin()
    clastro_mark_loop_thread()
    if let poller { run(poller, seed.seat) }
    poller = nil
    // Last: a caller that waits for it may count descriptors next.
    seed.finished.change { $0 = true }
  }

  private func run(_ poller: Poller, _ seat: LoopSeat) {
    let context = LoopContext(
      poller: poller, inbox: seed.inbox, time: seed.time, executor: LoopExecutor(seed.inbox))
    let core = LoopCore(context, time: seed.time)
    core.open()
    seed.prepare(core)
    seat.take(core)
    var tasks = LoopTasks()
    var wait = seat.turn { $0.nextWait() } ?? nil
    while let limit = wait {
      // Not with the seat held: a thread that has a job to begin may have it now.
      let count = limit == 0 && poller.hasLeft ? 0 : poller.wait(timeout: limit)
      seat.turn { $0.turn(count) }
      tasks.run(from: seed.inbox)
      wait = seat.turn { $0.nextWait() } ?? nil
    }
    seat.leave()
    core.close()
    tasks.leave(seed.inbox)
  }
}

extension ConfigurationError {
  static func noInbox(_ code: Int32) -> Self {
    Self(
      "the event loop cannot make an eventfd: \(String(cString: strerror(code)))",
      hint: "close some file descriptors, or raise `ulimit -n`")
  }

  static func noLoop(_ code: Int32) -> Self {
    Self(
      "the event loop cannot start: \(String(cString: strerror(code)))",
      hint: "end some threads, close some file descriptors, or raise `ulimit -u` and `ulimit -n`")
  }
}
