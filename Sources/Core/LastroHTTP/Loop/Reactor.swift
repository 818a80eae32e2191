// SPDX-License-Identifier: Apache-2.0

/// The source of a loop's readiness, and the place where its driver waits: ``SystemReactor`` in production,
/// ``SimulatedReactor`` in tests.
///
/// The loop needs no more of it than a wait and the events that ended the wait. Guests and links, which register what
/// they wait for, use the reactor that they were made for: libcurl's dialing uses ``Poller``, and links in memory use
/// ``SimulatedReactor``. Thread: the driver's.
package protocol Reactor: AnyObject {
  /// Whether something is ready that the last turn did not process.
  var hasLeft: Bool { get }

  /// Waits until something is ready, the loop is woken, or its time has come.
  ///
  /// - Returns: the number of events for ``handOver(_:to:)``.
  func wait(_ wait: LoopWait) -> Int

  /// Reports what is ready.
  ///
  /// - Parameter count: the result of ``wait(_:)``.
  /// - Returns: whether that was all that was ready.
  func handOver(_ count: Int, to body: (Readiness) -> Void) -> Bool
}

/// A descriptor that is ready, and the owner it was registered for.
package struct Readiness {
  package var descriptor: Int32
  package var owner: UInt32
  package var readable: Bool
  package var writable: Bool
  package var failed: Bool
}

/// The longest time that a driver may wait for readiness.
package struct LoopWait {
  /// No wait: something is due.
  static let none = LoopWait(left: 0, due: 0)

  /// Nanoseconds from now on; 0: none, `.max`: no limit.
  package var left: Int64
  /// The end of the wait, as the loop's clock counts.
  package var due: Int64
}

extension LoopWait {
  /// Makes the wait until a time; 0 is always past, and `.max` never comes.
  init(until due: Int64, _ time: LoopTime) {
    self.due = due
    left = due == 0 || due == .max ? due : max(0, due - time.now)
  }
}
