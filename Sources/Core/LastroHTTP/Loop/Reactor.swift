// SPDX-License-Identifier: Apache-2.0

/// The source of readiness events for a loop, on which its driver waits: ``SystemReactor`` in production. Tests have
/// one without descriptors.
///
/// The loop itself uses only the wait and the events that ended it. Guests and links register their descriptors with
/// the reactor that they were made for: libcurl's dialing uses ``Poller``. Thread: the driver's.
package protocol Reactor: AnyObject {
  /// Whether there are events that the last turn did not process.
  var hasLeft: Bool { get }

  /// Waits until a descriptor is ready, the loop is woken, or the time of the wait has passed.
  ///
  /// - Returns: the number of events for ``report(_:to:)``.
  func wait(_ wait: LoopWait) -> Int

  /// Reports the events of a wait.
  ///
  /// - Parameter count: the result of ``wait(_:)``.
  /// - Returns: whether these were all events that were ready.
  func report(_ count: Int, to body: (Readiness) -> Void) -> Bool
}

/// A descriptor that is ready, and the owner that it was registered for.
package struct Readiness {
  package var descriptor: Int32
  package var owner: UInt32
  package var readable: Bool
  package var writable: Bool
  package var failed: Bool
}

/// The longest time that a driver may wait for readiness.
package struct LoopWait {
  /// No wait, because work is due.
  static let none = LoopWait(left: 0, due: 0)

  /// The number of nanoseconds from now; 0 for no wait, `.max` for no limit.
  package var left: Int64
  /// The end of the wait, on the loop's clock.
  package var due: Int64
}

extension LoopWait {
  /// Creates the wait until a time. 0 has always passed, and `.max` never comes.
  init(until due: Int64, _ time: LoopTime) {
    self.due = due
    left = due == 0 || due == .max ? due : max(0, due - time.now)
  }
}
