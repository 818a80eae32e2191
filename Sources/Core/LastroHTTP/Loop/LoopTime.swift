// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// The source of a loop's time: the system's monotonic clock, or a `TimeSource`, such as a test clock.
///
/// Any thread may read it.
package struct LoopTime: Sendable {
  /// The source; `nil` for the system's clock.
  let source: TimeSource?
  /// The latest time at which a limit of the source has passed. A test clock may let a limit pass without advancing.
  private let passed = Lock(Int64.min)

  /// The system's monotonic clock.
  package static let monotonic = LoopTime(nil)

  package init(_ source: TimeSource?) { self.source = source.flatMap { $0.isContinuous ? nil : $0 } }

  /// Nanoseconds since a fixed origin.
  package var now: Int64 {
    guard let source else { return monotonicNow() }
    return max(source.now().nanoseconds, passed.withLock { $0 })
  }

  func advance(to time: Duration) {
    passed.withLock { $0 = max($0, time.nanoseconds) }
  }
}
