// SPDX-License-Identifier: Apache-2.0

/// When the next connection is made. A value; time and randomness come from outside.
///
/// `wait = base + U(0, min(30 s, base · (2ⁿ − 1)))`, with `n` connections lost since the latest event, its own
/// included. The base is what the server set last. With a base below 1 s the addition is counted from 1 s where `n` is
/// 2 or more: a server that asks for no wait is not knocked at without end while it is down.
struct ReconnectionSchedule: Sendable {
  private static let longestAddition = Duration.seconds(30)

  private var base = Duration.seconds(3)
  /// Connections lost since the latest event.
  private(set) var losses = 0

  /// The server sets the base.
  mutating func set(milliseconds: Int) { base = .milliseconds(min(milliseconds, 300_000)) }

  mutating func noteEvent() { losses = 0 }

  /// Counts a loss, and gives the wait after it.
  ///
  /// - Parameter unit: a random number from 0 up to 1.
  mutating func wait(random unit: Double) -> Duration {
    losses += 1
    let counted = losses > 1 ? max(base, .seconds(1)) : base
    let addition = min(Self.longestAddition, counted * ((1 << min(losses, 10)) - 1))
    return base + addition * unit
  }
}
