// SPDX-License-Identifier: Apache-2.0

/// A part of the system below HTTP that an event loop hosts, such as libcurl's dialing. It runs on the loop's thread,
/// in the loop's turns. The loop uses it only through this protocol.
///
/// A guest registers descriptors with the loop's ``Poller``, and returns its timers' earliest time from ``due``. Other
/// threads reach it through ``LoopInbox/perform(_:)``. All its members are called on the loop's thread, and none may
/// block. Work that takes longer than its share of the turn continues in the next turn.
package protocol LoopGuest: AnyObject {
  /// Whether no work is in progress, so that a loop that is being shut down may end.
  var isEmpty: Bool { get }

  /// The time at which ``turn(now:)`` must be called, in monotonic nanoseconds; `.max` for never.
  var due: Int64 { get }

  /// Prepares for a turn, before descriptors are processed.
  func beginTurn()

  /// Processes a descriptor that is ready.
  func ready(_ ready: Readiness)

  /// Processes timers. Called once in each turn of the loop, after descriptors and commands.
  func turn(now: Int64)

  /// Ends all dials and streams that callers have opened through the guest. Dials and streams that serve running
  /// exchanges end with the exchanges.
  func shutDown()

  /// Releases all resources that need the poller, which is about to be destroyed. No member is called afterwards.
  func tearDown()
}

/// A weak reference that any thread may hold, and only the loop's thread may dereference, or the holder of a lock.
final class LoopReference<Target: AnyObject>: Sendable {
  // Unchecked because after the reference is shared, only the loop's thread, or the holder of its lock, accesses it.
  nonisolated(unsafe) weak var target: Target?
}
