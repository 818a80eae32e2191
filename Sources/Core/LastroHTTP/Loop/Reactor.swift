// SPDX-License-Identifier: Apache-2.0

/// The source of readiness events for a loop, on which its driver waits: ``Poller`` in production. Tests have one
/// without descriptors.
///
/// The loop itself uses only the wait and the events that ended it. Guests and links register their descriptors with
/// the reactor that they were made for, as libcurl's dialing does. Thread: the driver's.
package protocol Reactor: AnyObject {
  /// Whether there are events that the last turn did not process.
  var hasLeft: Bool { get }

  /// Waits until a descriptor is ready, the loop is woken, or a time has passed.
  ///
  /// - Parameter due: the time on the loop's clock; 0 for no wait, `.max` for no limit.
  /// - Returns: the number of events for ``report(_:to:)``.
  func wait(until due: Int64) -> Int

  /// Reports the events of a wait.
  ///
  /// - Parameter count: the result of ``wait(until:)``.
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

  package init(descriptor: Int32, owner: UInt32, readable: Bool, writable: Bool, failed: Bool) {
    self.descriptor = descriptor
    self.owner = owner
    self.readable = readable
    self.writable = writable
    self.failed = failed
  }
}
