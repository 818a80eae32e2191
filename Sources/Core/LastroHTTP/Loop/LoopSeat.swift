// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A lock around the core of a loop. The loop's thread holds it during its turns. While that thread waits for
/// descriptors, another thread may take the lock and begin a job of its own. In comments, "the loop's thread" means the
/// thread that holds this lock.
///
/// A single caller thus avoids a switch to another thread: waking a thread costs more than sending a request.
package final class LoopSeat: Sendable {
  private let core = Lock<LoopCore?>(nil)

  /// Stores the core, which the loop's thread has created.
  func take(_ core: LoopCore) { self.core.withLock { $0 = core } }

  /// Runs a turn of the loop's thread with the core. Returns `nil` if the core has been removed.
  package func turn<Result>(_ body: (LoopCore) -> Result) -> Result? { core.withLock { $0.map(body) } }

  /// Calls a closure with the core. Returns `nil` if the loop is in a turn, or the core has been removed.
  func turnIfFree<Result>(_ body: (LoopCore) -> Result) -> Result? { core.withLockIfFree { $0.map(body) } ?? nil }

  /// Removes the core at the end of the loop. No thread can use it afterwards.
  func leave() { core.withLock { $0 = nil } }
}
