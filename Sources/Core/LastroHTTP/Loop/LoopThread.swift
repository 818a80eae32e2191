// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
internal import Glibc
internal import LastroSupport
internal import Synchronization

/// The driver of loops in production: a thread that waits for descriptors and turns the loop until it ends.
///
/// It references the inbox and not the ``EventLoop``, whose release ends the loop and this thread.
enum LoopThread {
  /// Starts the thread of a loop.
  ///
  /// - Returns: false, with the reason in `errno`, if the system has no descriptor or no thread for the loop.
  static func start(
    _ parts: LoopParts, _ prepare: @escaping @Sendable (LoopCore, Poller) -> (any LoopGuest)?
  ) -> Bool {
    guard let reactor = Poller(parts.inbox, parts.time) else { return false }
    // The new thread takes the reactor, and this function keeps no reference to it.
    let handedOver = Lock(Optional(reactor))
    let code = DetachedThread.start {
      nameThread("lastro-loop")
      parts.thread.setToCurrent()
      clastro_mark_loop_thread()
      if let reactor = handedOver.withLock({ $0.take() }) { turn(over: reactor, parts, prepare) }
      // This is last, because a caller that waits for it may count open descriptors next.
      parts.finished.change { $0 = true }
    }
    guard code == 0 else {
      errno = code
      return false
    }
    return true
  }

  /// Turns the loop until it ends.
  private static func turn(
    over reactor: Poller, _ parts: LoopParts, _ prepare: (LoopCore, Poller) -> (any LoopGuest)?
  ) {
    let turner = LoopTurner(reactor, parts) { prepare($0, reactor) }
    while turner.turn() {}
    turner.end()
    reactor.cancelAlarm()
  }
}

/// The identity of the thread that turns a loop.
final class ThreadIdentity: Sendable {
  private let id = Atomic<UInt>(0)

  /// Records that the calling thread turns the loop from now on.
  func setToCurrent() { id.store(UInt(pthread_self()), ordering: .relaxed) }

  var isCurrent: Bool { id.load(ordering: .relaxed) == UInt(pthread_self()) }
}
