// SPDX-License-Identifier: Apache-2.0

/// Retrying operations of any kind: what to do after a failure, and what has happened so far.
public enum Retry {
  /// A number of retries; the first attempt does not count.
  public typealias Retries = Int
  /// A wait before a retry.
  public typealias Delay = Duration

  /// The longest delay that is kept: some thirty years. Clocks trap on what they cannot hold.
  static let longestDelay = Delay.seconds(1_000_000_000)

  /// A delay from a number of seconds, for policies that compute with numbers.
  ///
  /// `Duration.seconds(_:)` traps on infinity and on what is not a number. Here those are 1,000,000,000 s, which is the
  /// longest delay in either direction, and zero.
  public static func seconds(_ number: Double) -> Delay {
    let longest = longestDelay.inSeconds
    return number.isNaN ? .zero : .seconds(min(max(number, -longest), longest))
  }
}
