// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Returns the time of the monotonic clock in nanoseconds. It is an `Int64` and not a `ContinuousClock.Instant`,
/// because it is read several times a turn.
package func monotonicNow() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
  /// The number of whole nanoseconds, clamped to the range of `Int64`.
  package var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}

extension Int64 {
  /// Returns this point in time plus a number of nanoseconds, or `.max` on overflow.
  package func adding(nanoseconds: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(nanoseconds)
    return overflow ? .max : sum
  }

  /// Returns this point in time plus a positive duration, or `.max` on overflow.
  package func adding(_ duration: Duration) -> Int64 { adding(nanoseconds: duration.nanoseconds) }
}
