// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The core of a loop, and who works with it: the loop's thread in its turns; while that waits for descriptors, another
/// may begin a job of its own. "The loop's thread" in a comment means the one that has the seat.
///
/// That spares a caller who is alone the way over another thread: waking one costs more than sending a request.
package final class LoopSeat: Sendable {
  private let core = Lock<LoopCore?>(nil)

  /// The loop's thread has made its core.
  func take(_ core: LoopCore) { self.core.withLock { $0 = core } }

  /// Runs a turn of the loop's thread with the core; `nil` once the core is gone.
  package func turn<Result>(_ body: (LoopCore) -> Result) -> Result? { core.withLock { $0.map(body) } }

  /// Calls a closure with the core, unless the loop is at work: then, and once the core is gone, returns `nil`.
  func turnIfFree<Result>(_ body: (LoopCore) -> Result) -> Result? { core.withLockIfFree { $0.map(body) } ?? nil }

  /// Begins a job on the thread that calls. False: the loop is at work, or the job is one for its own thread.
  func begin(_ job: EngineJob) -> Bool { core.withLockIfFree { $0?.beginAside(job) ?? false } ?? false }

  /// The end. No other thread has the core any more.
  func leave() { core.withLock { $0 = nil } }
}
