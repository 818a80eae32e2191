// SPDX-License-Identifier: Apache-2.0

/// The namespace of retries, for operations of any kind: policies, actions, and the state of an operation.
public enum Retry {
  /// A number of retries; the first attempt does not count.
  public typealias Retries = Int
  /// The delay before a retry.
  public typealias Delay = Duration

  /// The longest delay: some thirty years. Clocks trap on durations that they cannot represent, so longer delays are
  /// reduced to it.
  static let longestDelay = Delay.seconds(1_000_000_000)

  /// Returns a delay from a number of seconds, for policies that compute with floating-point numbers.
  ///
  /// `Duration.seconds(_:)` traps on infinity and NaN. This function returns zero for NaN, and limits other numbers to
  /// 1,000,000,000 s, the longest delay, in either direction.
  public static func seconds(_ number: Double) -> Delay {
    let longest = longestDelay.inSeconds
    return number.isNaN ? .zero : .seconds(min(max(number, -longest), longest))
  }
}
