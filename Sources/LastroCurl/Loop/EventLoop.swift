// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroSupport

#if canImport(Glibc)
  internal import Glibc
#endif

/// The face of one loop thread. The thread ends when the last reference to this object is gone and its transfers are,
/// so nothing has to be shut down.
final class EventLoop: Sendable {
  private let inbox: LoopInbox
  private let finished: LoopFinish
  /// Jobs started and not yet finished; read by the transport to spread jobs over loops.
  let load: LoadCounter
  /// Streams dialed and not yet over; read by the transport to spread them over loops.
  let streams: LoadCounter

  init(settings: LoopSettings) throws(ConfigurationError) {
    guard let inbox = LoopInbox() else {
      throw ConfigurationError(
        "no eventfd: errno \(errno)", hint: "the process is out of file descriptors; raise `ulimit -n`")
    }
    self.inbox = inbox
    finished = LoopFinish()
    load = LoadCounter()
    streams = LoadCounter()
    let seed = LoopSeed(settings: settings, inbox: inbox, finished: finished, load: load, streams: streams)
    guard seed.launch() else {
      throw ConfigurationError(
        "the event loop cannot start: errno \(errno)",
        hint: "the process is out of threads or file descriptors; raise `ulimit -u` and `ulimit -n`")
    }
  }

  deinit { _ = inbox.post(.shutDown(cancelling: true)) }

  /// False when the loop has ended.
  func post(_ command: LoopCommand) -> Bool { inbox.post(command) }

  /// Suspends until the thread has ended.
  func waitUntilFinished() async { await finished.wait() }
}

/// What the loop thread starts from. It holds the inbox and not the ``EventLoop``, whose end is the thread's signal.
private final class LoopSeed: Sendable {
  let settings: LoopSettings
  let inbox: LoopInbox
  let finished: LoopFinish
  let load: LoadCounter
  let streams: LoadCounter

  init(
    settings: LoopSettings, inbox: LoopInbox, finished: LoopFinish, load: LoadCounter, streams: LoadCounter
  ) {
    self.settings = settings
    self.inbox = inbox
    self.finished = finished
    self.load = load
    self.streams = streams
  }

  func launch() -> Bool {
    guard let poller = Poller() else { return false }
    // Ownership of the poller crosses to the new thread here, and nobody on this side keeps it.
    let crossing = Unmanaged.passRetained(LoopStart(seed: self, poller: poller))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let start = Unmanaged<LoopStart>.fromOpaque(context).takeRetainedValue()
        clastro_name_thread("lastro-loop")
        start.run()
        return nil
      }, crossing.toOpaque())
    guard code == 0 else {
      crossing.release()
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
    if let poller {
      let streams = StreamHub(settings: seed.settings, poller: poller, load: seed.streams)
      LoopCore(settings: seed.settings, inbox: seed.inbox, poller: poller, load: seed.load, streams: streams).run()
    }
    poller = nil
    // Last: whoever waits for it may count descriptors next.
    seed.finished.signal()
  }
}

/// Tells waiters that the thread has ended.
final class LoopFinish: Sendable {
  private struct State {
    var isFinished = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  func signal() {
    let waiters = state.withLock { state in
      state.isFinished = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isFinished = state.withLock { state in
        if !state.isFinished { state.waiters.append(continuation) }
        return state.isFinished
      }
      if isFinished { continuation.resume() }
    }
  }
}
