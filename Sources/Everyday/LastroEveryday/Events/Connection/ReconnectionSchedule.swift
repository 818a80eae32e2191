// SPDX-License-Identifier: Apache-2.0

/// The waits before reconnections. A value type: time and randomness are passed in.
///
/// `wait = base + U(0, min(30 s, base · (2ⁿ − 1)))`, where `n` is the number of connections lost since the latest
/// event, including this one. The base is the time that the server set last. If the base is below 1 s and `n` is at
/// least 2, the random addition is computed from 1 s, so that a server that asks for no wait is not flooded with
/// connections while it is down.
struct ReconnectionSchedule: Sendable {
  private static let longestAddition = Duration.seconds(30)

  private var base = Duration.seconds(3)
  /// The number of connections lost since the latest event.
  private(set) var losses = 0

  /// Sets the base, as the server requests.
  mutating func set(milliseconds: Int) { base = .milliseconds(min(milliseconds, 300_000)) }

  mutating func noteEvent() { losses = 0 }

  /// Counts a loss, and returns the wait after it.
  ///
  /// - Parameter unit: a random number from 0 up to, but not including, 1.
  mutating func wait(random unit: Double) -> Duration {
    losses += 1
    let counted = losses > 1 ? max(base, .seconds(1)) : base
    let addition = min(Self.longestAddition, counted * ((1 << min(losses, 10)) - 1))
    return base + addition * unit
  }
}
