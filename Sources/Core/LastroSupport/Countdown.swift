// SPDX-License-Identifier: Apache-2.0

/// The remaining time of a limit.
package struct Countdown: Sendable {
  private static let start = ContinuousClock.now

  /// The limit as passed to the initializer.
  package let limit: Duration?
  private let now: @Sendable () -> Duration
  private var end: Duration?

  /// Starts a countdown.
  ///
  /// - Parameters:
  ///   - limit: the time limit; `nil` for none. A negative limit has already passed.
  ///   - now: a monotonic clock. Default: the system's continuous clock.
  package init(_ limit: Duration?, now: (@Sendable () -> Duration)? = nil) {
    let now = now ?? { Self.start.duration(to: .now) }
    self.limit = limit
    self.now = now
    end = limit.map { now() + max($0, .zero).countable }
  }

  /// The remaining time, at least zero; `nil` if there is no limit.
  package var left: Duration? { end.map { max(.zero, $0 - now()) } }

  package mutating func extend(by more: Duration) { end? += more }
}

extension Duration {
  /// The duration, at most about thirty years: clocks, and `Duration` itself, trap on values that they cannot
  /// represent.
  package var countable: Duration { min(self, .seconds(1_000_000_000)) }
}
