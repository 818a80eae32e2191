// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc
internal import LastroSupport
internal import Synchronization

/// The driver of loops in production: a thread that waits for descriptors and turns the loop until it ends.
///
/// It references the inbox and not the ``EventLoop``, whose release ends the loop and this thread.
final class LoopThread {
  private var reactor: SystemReactor?
  private let parts: LoopParts
  private let prepare: (LoopCore, Poller) -> Void

  private init(_ reactor: SystemReactor, _ parts: LoopParts, _ prepare: @escaping (LoopCore, Poller) -> Void) {
    self.reactor = reactor
    self.parts = parts
    self.prepare = prepare
  }

  /// Starts the thread of a loop.
  ///
  /// - Returns: false, with the reason in `errno`, if the system has no descriptor or no thread for the loop.
  static func start(_ parts: LoopParts, _ prepare: @escaping @Sendable (LoopCore, Poller) -> Void) -> Bool {
    guard let reactor = SystemReactor(parts.inbox, parts.time) else { return false }
    // The new thread takes over the reactor, and this function keeps no reference to it.
    let driver = LoopThread(reactor, parts, prepare)
    let code = DetachedThread.start {
      nameThread("lastro-loop")
      driver.run()
    }
    guard code == 0 else {
      errno = code
      return false
    }
    return true
  }

  private func run() {
    parts.thread.begin()
    clastro_mark_loop_thread()
    if let reactor { turn(over: reactor) }
    reactor = nil
    // This is last, because a caller that waits for it may count open descriptors next.
    parts.finished.change { $0 = true }
  }

  /// Turns the loop until it ends.
  private func turn(over reactor: SystemReactor) {
    let turner = LoopTurner(reactor, parts) { [prepare, poller = reactor.poller] in prepare($0, poller) }
    while turner.turn() {}
    turner.end()
    reactor.end()
  }
}

/// The identity of the thread that turns a loop.
final class ThreadIdentity: Sendable {
  private let id = Atomic<UInt>(0)

  /// Records that the calling thread turns the loop from now on.
  func begin() { id.store(UInt(pthread_self()), ordering: .relaxed) }

  var isCurrent: Bool { id.load(ordering: .relaxed) == UInt(pthread_self()) }
}
