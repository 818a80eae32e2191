// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#endif

/// The source of the pipeline's time: a monotonic clock, a cancellable wait, and the date.
public struct TimeSource: Sendable {
  /// Time since an arbitrary, fixed origin. Never goes back.
  public let now: @Sendable () -> Duration
  /// Suspends for a duration. Throws `CancellationError` promptly when the task is cancelled.
  public let sleep: @Sendable (Duration) async throws -> Void
  /// Suspends like ``sleep``, for a limit that normally does not pass: a test's clock that moves with each sleep must
  /// not move for these.
  public let limit: @Sendable (Duration) async throws -> Void
  /// Time since 1970-01-01 00:00:00 UTC, leap seconds not counted, which may jump: for dates that servers send, and
  /// exports.
  public let sinceEpoch: @Sendable () -> Duration
  /// Whether it is ``continuous``.
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

  /// The system's continuous clock.
  public static let continuous = {
    let start = bootTime()
    var source = TimeSource(
      now: { .nanoseconds(bootTime() - start) }, sleep: { try await Task.sleep(for: $0, clock: .continuous) })
    source.isContinuous = true
    return source
  }()
}

/// Returns the nanoseconds of `ContinuousClock`, whose instants cost twice as much to read and to compare.
private func bootTime() -> Int64 {
  #if canImport(Glibc)
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  #else
    Int64(clamping: originOfTime.duration(to: .now).attoseconds / 1_000_000_000)
  #endif
}

#if !canImport(Glibc)
  private let originOfTime = ContinuousClock.now
#endif

/// Goes by the clock of its stack, unless it was given one.
package protocol ClockUser {
  /// Called by each stack that is made with it.
  func adopt(clock time: TimeSource)
}

extension Duration {
  /// The number of seconds, to a double's precision.
  package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }

  /// The number of seconds, to the microsecond: the shortest number to write, where no clock measures more finely.
  package var inRoundedSeconds: Double { (inSeconds * 1e6).rounded() / 1e6 }
}
