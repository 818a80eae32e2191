// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import Lastro
package import LastroSupport

/// The handle of an event loop, which any thread may use. A driver turns the loop: a thread of its own
/// (``LoopThread``), or a test. The loop ends when the last reference to this object is released and its exchanges have
/// ended, so no shutdown is needed.
package final class EventLoop: Sendable {
  private let parts: LoopParts

  package var inbox: LoopInbox { parts.inbox }
  package var seat: Lock<LoopCore?> { parts.seat }

  /// Starts a loop on a thread of its own.
  ///
  /// - Parameters:
  ///   - time: the clock that measures limits. Default: the system's clock.
  ///   - prepare: opens engines, on the loop's thread, before the first turn, and returns the guest. Default: neither.
  package convenience init(
    time: LoopTime = .monotonic,
    _ prepare: @escaping @Sendable (LoopCore, Poller) -> (any LoopGuest)? = { _, _ in nil }
  ) throws(ConfigurationError) {
    guard let inbox = LoopInbox() else {
      throw .noLoop(errno)
    }
    let parts = LoopParts(inbox: inbox, time: time)
    self.init(parts)
    guard LoopThread.start(parts, prepare) else {
      throw .noLoop(errno)
    }
    DispatchDescriptors.open()
  }

  /// Creates the handle of a loop that a driver turns.
  init(_ parts: LoopParts) { self.parts = parts }

  deinit { _ = inbox.post(.shutDown(cancelling: true)) }

  /// The time on the clock that measures the loop's limits.
  package var now: Int64 { parts.time.now }

  /// Stops accepting jobs. The loop ends when no job is left.
  ///
  /// - Parameter cancelling: whether running jobs are cancelled (code `shut_down`) instead of awaited.
  package func shutDown(cancelling: Bool) { _ = inbox.post(.shutDown(cancelling: cancelling)) }

  /// Whether the calling thread is the one that turns the loop.
  package var isCurrent: Bool { parts.thread.isCurrent }

  /// Suspends until the loop has ended. It waits in a task of its own, so cancelling the caller does not end the wait.
  package func waitUntilFinished() async { _ = await Task { [parts] in await parts.finished.wait { $0 } }.value }
}

extension EventLoop {
  private static let latest = Lock(LoopReference<EventLoop>())

  /// Returns the loop that is shared by transports without a loop below them. It starts with its first user and ends
  /// with its last one.
  static func shared() throws(ConfigurationError) -> EventLoop {
    try latest.withLock { latest throws(ConfigurationError) in
      if let loop = latest.target { return loop }
      let loop = try EventLoop()
      latest.target = loop
      return loop
    }
  }
}

extension ConfigurationError {
  static func noLoop(_ code: Int32) -> Self {
    Self(
      "the event loop cannot start: \(String(cString: strerror(code)))",
      hint: "end some threads, close some file descriptors, or raise `ulimit -u` and `ulimit -n`")
  }
}
