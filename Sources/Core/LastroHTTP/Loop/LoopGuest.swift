// SPDX-License-Identifier: Apache-2.0

/// A part of a system below HTTP that an event loop hosts, such as libcurl's dialing: it works on the loop's thread, in
/// the loop's turns, and the loop knows nothing else of it.
///
/// A guest registers descriptors with the loop's ``Poller``, under ``owners``, and returns its timers' earliest time
/// from ``due``. Other threads reach it by posting ``LoopCommand/guest(_:)``. All its members are called on the loop's
/// thread, and none may block; what takes longer than a share of the turn is continued in the next.
package protocol LoopGuest: AnyObject {
  /// The owners of the guest's descriptors in the poller. No other guest has any of them.
  static var owners: ClosedRange<UInt32> { get }

  /// Whether nothing is under way, so that a loop that is shut down may end.
  var isEmpty: Bool { get }

  /// Monotonic nanoseconds at which ``turn(now:)`` has something to do; `.max` for never.
  var due: Int64 { get }

  /// Notes that a turn begins, before descriptors are processed.
  func beginTurn()

  /// Processes a descriptor that is ready.
  func ready(_ ready: Poller.Ready)

  /// Processes timers. Called once in each turn of the loop, after descriptors and commands.
  func turn(now: Int64)

  /// Ends what callers have from the guest. What serves running exchanges ends with them.
  func shutDown()

  /// Releases what needs the poller, which is about to go. Nothing is called afterwards.
  func tearDown()
}

/// A command of another thread for what a loop hosts, performed on the loop's thread: also after a shutdown, and while
/// the loop ends.
package protocol GuestCommand: Sendable {
  func perform(on loop: LoopCore)
}

/// A reference that any thread may carry to the loop's thread, which alone follows it.
final class LoopReference<Target: AnyObject>: Sendable {
  // Unchecked because only the loop's thread reads or writes it once others have the reference.
  nonisolated(unsafe) weak var target: Target?

  init(_ target: Target? = nil) { self.target = target }
}
