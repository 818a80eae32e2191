// SPDX-License-Identifier: Apache-2.0

/// What is left of a limit in time.
package struct Countdown: Sendable {
  private static let start = ContinuousClock.now

  /// As it was given.
  package let limit: Duration?
  private let now: @Sendable () -> Duration
  private var end: Duration?

  /// - Parameters:
  ///   - limit: `nil` for none; what is below zero has passed.
  ///   - now: a monotonic clock. Default: the system's continuous one.
  package init(_ limit: Duration?, now: (@Sendable () -> Duration)? = nil) {
    let now = now ?? { Self.start.duration(to: .now) }
    self.limit = limit
    self.now = now
    end = limit.map { now() + max($0, .zero).countable }
  }

  /// What is left, zero at the least; `nil` where there is no limit.
  package var left: Duration? { end.map { max(.zero, $0 - now()) } }

  package mutating func extend(by more: Duration) { end? += more }
}

extension Duration {
  /// Some thirty years at most: clocks, and `Duration` itself, trap on what they cannot hold.
  package var countable: Duration { min(self, .seconds(1_000_000_000)) }
}
