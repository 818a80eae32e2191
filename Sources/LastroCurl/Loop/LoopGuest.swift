// SPDX-License-Identifier: Apache-2.0

/// A part of an engine that an event loop hosts: it works on the loop's thread, in the loop's turns, and the loop knows
/// nothing else of it.
///
/// A guest registers descriptors with the loop's ``Poller``, under ``owners``, and returns its timers' earliest time
/// from ``due``. Other threads reach it by posting ``LoopCommand/guest(_:)``. All its members are called on the loop's
/// thread, and none may block; what takes longer than a share of the turn is continued in the next.
protocol LoopGuest: AnyObject {
  /// The owners of the guest's descriptors in the poller. No other guest has any of them.
  static var owners: ClosedRange<UInt32> { get }

  /// Whether nothing is under way, so that a loop that is shut down may end.
  var isEmpty: Bool { get }

  /// Monotonic nanoseconds at which ``turn(now:)`` has something to do; `.max` for never.
  var due: Int64 { get }

  /// Processes a descriptor that is ready.
  func ready(_ ready: Poller.Ready)

  /// Processes timers. Called once in each turn of the loop, after descriptors and commands.
  func turn(now: Int64)

  /// Performs a command that was posted, also after ``shutDown()`` and while the loop ends.
  ///
  /// - Returns: false where the command is another guest's.
  func perform(_ command: any GuestCommand) -> Bool

  /// Ends what callers have from the guest. What serves running exchanges ends with them.
  func shutDown()

  /// Releases what needs the poller, which is about to go. Nothing is called afterwards.
  func tearDown()
}

/// A command of another thread for a ``LoopGuest``.
protocol GuestCommand: Sendable {}
