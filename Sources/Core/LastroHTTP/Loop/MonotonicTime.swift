// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Nanoseconds of the monotonic clock. `Int64` and not `ContinuousClock.Instant`: it is read several times a turn.
package func monotonicNow() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

extension Duration {
  /// Whole nanoseconds, saturating.
  package var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}

extension Int64 {
  /// This point in time and so many nanoseconds later, at most the end of time.
  package func adding(nanoseconds: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(nanoseconds)
    return overflow ? .max : sum
  }

  /// This point in time and a positive duration later, at most the end of time.
  package func adding(_ duration: Duration) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(duration.nanoseconds)
    return overflow ? .max : sum
  }
}
