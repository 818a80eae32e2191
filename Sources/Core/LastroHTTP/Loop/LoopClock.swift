// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
internal import Synchronization

/// The source of a loop's time: the system's monotonic clock, or a `TimeSource`, such as a test clock.
///
/// Any thread may read it.
package struct LoopTime: Sendable {
  /// The source; `nil` for the system's clock.
  let source: TimeSource?
  /// The latest time at which a limit of the source has passed. A test clock may let a limit pass without advancing.
  private let passed = Passed()

  private final class Passed: Sendable {
    let time = Atomic<Int64>(.min)
  }

  /// The system's monotonic clock.
  package static let monotonic = LoopTime(nil)

  package init(_ source: TimeSource?) { self.source = source.flatMap { $0.isContinuous ? nil : $0 } }

  /// Nanoseconds since a fixed origin.
  package var now: Int64 {
    guard let source else { return monotonicNow() }
    return max(source.now().nanoseconds, passed.time.load(ordering: .relaxed))
  }

  func notePassed(_ time: Duration) {
    let time = time.nanoseconds
    if time > passed.time.load(ordering: .relaxed) { passed.time.store(time, ordering: .relaxed) }
  }
}

/// The loop's time, which is read when a turn begins, and when a job begins between turns. Reading the system's clock
/// has a cost, and a turn has dozens of callbacks.
package final class LoopClock {
  private let time: LoopTime
  /// The time in nanoseconds, as ``LoopTime/now`` returns it.
  // Unchecked because only the loop's thread accesses it, and reading a clock does not reenter this object.
  @exclusivity(unchecked) package private(set) var now: Int64

  init(_ time: LoopTime) {
    self.time = time
    now = time.now
  }

  func update() { now = time.now }
}
