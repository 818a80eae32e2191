// SPDX-License-Identifier: Apache-2.0

/// Where the pipeline's time comes from: a monotonic clock and a cancellable wait.
public struct TimeSource: Sendable {
  /// Time since an arbitrary, fixed origin. Never goes back.
  public let now: @Sendable () -> Duration
  /// Suspends for a duration. Throws `CancellationError` promptly when the task is cancelled.
  public let sleep: @Sendable (Duration) async throws -> Void

  /// Makes a source of time.
  public init(
    now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The system's continuous clock.
  public static let continuous = TimeSource(
    now: { processStart.duration(to: .now) },
    sleep: { try await Task.sleep(for: $0, clock: .continuous) })

  private static let processStart = ContinuousClock.now
}
