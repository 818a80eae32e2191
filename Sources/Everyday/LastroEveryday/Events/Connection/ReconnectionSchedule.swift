// SPDX-License-Identifier: Apache-2.0

/// The waits before reconnections. A value type: time and randomness are passed in.
///
/// `wait = base + U(0, min(30 s, base · (2ⁿ − 1)))`, where `n` is the number of connections lost since the latest
/// event, including this one. The base is the time that the server set last, but at least 100 ms: a server that asks
/// for no wait and closes after each event would otherwise be connected to as fast as the network allows. If the base
/// is below 1 s and `n` is at least 2, the random addition is computed from 1 s, so that such a server is not flooded
/// with connections while it is down.
struct ReconnectionSchedule: Sendable {
  private static let bases = Duration.milliseconds(100)...Duration.seconds(300)
  private static let longestAddition = Duration.seconds(30)

  private var base = Duration.seconds(3)
  /// The number of connections lost since the latest event.
  private(set) var losses = 0

  /// Sets the base, as the server requests.
  mutating func set(milliseconds: Int) {
    base = min(max(.milliseconds(milliseconds), Self.bases.lowerBound), Self.bases.upperBound)
  }

  mutating func resetLosses() { losses = 0 }

  /// Returns the wait before a connection that replaces an outdated one, which is no loss. It is longer than a second,
  /// after which files of client certificates are checked again, and at least the base.
  ///
  /// - Parameter unit: a random number from 0 up to, but not including, 1.
  func replacementWait(random unit: Double) -> Duration {
    max(base + base * unit, .milliseconds(1_100) + .milliseconds(1_900) * unit)
  }

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
