// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport
internal import Synchronization

/// The source of a loop's time: the system's monotonic clock, or a `TimeSource`, such as a test's clock.
///
/// Any thread may ask.
package struct LoopTime: Sendable {
  /// `nil`: the system's clock.
  let source: TimeSource?
  /// The latest time at which a limit of the source has passed: a test's clock may let one pass without moving.
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

/// The time of a turn of the loop: when it woke. Reading the clock is not free, and callbacks come by the dozen.
package final class LoopClock {
  private let time: LoopTime
  /// Nanoseconds, as ``LoopTime/now`` returns them.
  // Unchecked because the loop's thread alone touches it, and reading a clock calls nothing that comes back here.
  @exclusivity(unchecked) package private(set) var now: Int64

  init(_ time: LoopTime) {
    self.time = time
    now = time.now
  }

  func update() { now = time.now }
}
