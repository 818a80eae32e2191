// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

#if canImport(Glibc)
  internal import Glibc
#endif

/// The face of one loop thread. The thread ends when the last reference to this object is gone and its transfers are,
/// so nothing has to be shut down.
final class EventLoop: Sendable {
  /// With more jobs under way the loop is awake anyway, and takes many at once.
  private static let few = 4

  let inbox: LoopInbox
  let seat: LoopSeat
  private let thread: LoopThread
  private let finished: Watched<Bool>
  /// Jobs started and not yet finished; read by the transport to spread jobs over loops.
  let load: LoadCounter
  /// Byte streams and datagrams dialed and not yet over; read by the transport to spread them over loops.
  let streams: LoadCounter

  init(settings: LoopSettings) throws(ConfigurationError) {
    guard let inbox = LoopInbox() else {
      throw .noInbox(errno)
    }
    self.inbox = inbox
    finished = Watched(false)
    load = LoadCounter()
    streams = LoadCounter()
    seat = LoopSeat()
    thread = LoopThread()
    let seed = LoopSeed(
      settings: settings, inbox: inbox, seat: seat, thread: thread, finished: finished, load: load, streams: streams)
    guard seed.launch() else {
      throw .noLoop(errno)
    }
    DispatchDescriptors.open()
  }

  deinit { _ = inbox.post(.shutDown(cancelling: true)) }

  /// False when the loop has ended.
  func post(_ command: LoopCommand) -> Bool { inbox.post(command) }

  /// Whether the calling thread is the loop's.
  var isCurrent: Bool { thread.isCurrent }

  /// Begins a job, or queues it. False when the loop has ended.
  func start(_ job: TransferJob) -> Bool {
    let isBegun = (isCurrent || load.value < Self.few) && seat.begin(job)
    guard isBegun || post(.start(job)) else { return false }
    // Not before: what is counted has come before a shutdown that follows. The job may have ended already.
    load.begin()
    return true
  }

  /// Suspends until the thread has ended. In a task of its own: the cancellation of the caller does not end the wait.
  func waitUntilFinished() async { _ = await Task { [finished] in await finished.wait { $0 } }.value }
}

/// The parts that the loop thread starts with. It holds the inbox and not the ``EventLoop``, whose end stops the
/// thread.
private final class LoopSeed: Sendable {
  let settings: LoopSettings
  let inbox: LoopInbox
  let seat: LoopSeat
  let thread: LoopThread
  let finished: Watched<Bool>
  let load: LoadCounter
  let streams: LoadCounter

  init(
    settings: LoopSettings, inbox: LoopInbox, seat: LoopSeat, thread: LoopThread, finished: Watched<Bool>,
    load: LoadCounter, streams: LoadCounter
  ) {
    self.settings = settings
    self.inbox = inbox
    self.seat = seat
    self.thread = thread
    self.finished = finished
    self.load = load
    self.streams = streams
  }

  func launch() -> Bool {
    guard let poller = Poller(tlsBytes: settings.turn.tlsBytes) else { return false }
    // The poller goes to the new thread here, and this side keeps no reference to it.
    let start = LoopStart(seed: self, poller: poller)
    let code = DetachedThread.start {
      clastro_name_thread("lastro-loop")
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
    if let poller { run(poller, seed.seat) }
    poller = nil
    // Last: a caller that waits for it may count descriptors next.
    seed.finished.change { $0 = true }
  }

  private func run(_ poller: Poller, _ seat: LoopSeat) {
    let dialing = StreamHub(settings: seed.settings, poller: poller, inbox: seed.inbox, load: seed.streams)
    let core = LoopCore(settings: seed.settings, inbox: seed.inbox, poller: poller, load: seed.load, dialing: dialing)
    core.open()
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
      "the event loop cannot make an eventfd: \(SystemError.text(code))",
      hint: "close some file descriptors, or raise `ulimit -n`")
  }

  static func noLoop(_ code: Int32) -> Self {
    Self(
      "the event loop cannot start: \(SystemError.text(code))",
      hint: "end some threads, close some file descriptors, or raise `ulimit -u` and `ulimit -n`")
  }
}
