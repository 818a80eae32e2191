// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc

/// The source of the pipeline's time: a monotonic clock, a cancellable wait, and the date.
public struct TimeSource: Sendable {
  /// Returns the time since an arbitrary, fixed origin. It never decreases.
  public let now: @Sendable () -> Duration
  /// Suspends for a duration. Throws `CancellationError` promptly when the task is cancelled.
  public let sleep: @Sendable (Duration) async throws -> Void
  /// Suspends like ``sleep``, but for a limit that normally does not expire. A test clock that advances with each sleep
  /// must not advance for these.
  public let limit: @Sendable (Duration) async throws -> Void
  /// Returns the time since 1970-01-01 00:00:00 UTC, without leap seconds. It may jump. It is used for dates from
  /// servers, and for exports.
  public let sinceEpoch: @Sendable () -> Duration
  /// Whether the source is ``continuous``.
  package private(set) var isContinuous = false

  /// Makes a source of time.
  ///
  /// - Parameters:
  ///   - now: a monotonic clock.
  ///   - sleep: a cancellable wait.
  ///   - limit: a wait for a limit. Default: `sleep`.
  ///   - sinceEpoch: the date. Default: the system's.
  public init(
    now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
    limit: (@Sendable (Duration) async throws -> Void)? = nil, sinceEpoch: (@Sendable () -> Duration)? = nil
  ) {
    self.now = now
    self.sleep = sleep
    self.limit = limit ?? sleep
    self.sinceEpoch = sinceEpoch ?? { .seconds(Date().timeIntervalSince1970) }
  }

  /// The system's continuous clock. Its origin is the start of the system, or of a simulation: one that depended on the
  /// first use in the process would make runs of a simulation differ.
  public static let continuous = {
    var source = TimeSource(
      now: { .nanoseconds(bootTime()) }, sleep: { try await Task.sleep(for: $0, clock: .continuous) })
    source.isContinuous = true
    return source
  }()
}

/// Returns the time of `ContinuousClock` in nanoseconds. Reading and comparing the clock's own instants costs twice as
/// much.
private func bootTime() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_BOOTTIME, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// An object that uses the clock of its stack, unless it was made with another.
package protocol ClockUser {
  /// Adopts the clock of a stack. Called by each stack that is made with this object.
  func adopt(clock time: TimeSource)
}

extension Duration {
  /// The number of seconds, to a double's precision.
  package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }

  /// The number of seconds, rounded to the microsecond. This keeps the written number short; no clock here measures
  /// more finely.
  package var inRoundedSeconds: Double { (inSeconds * 1e6).rounded() / 1e6 }
}
