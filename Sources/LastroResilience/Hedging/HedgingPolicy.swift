// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// When a request that takes long is sent a second time, and what that may cost. A ``Hedger`` follows it.
///
/// ```swift
/// let hedger = Hedger(try HedgingPolicy(delay: .fixed(.milliseconds(200))))
/// ```
public struct HedgingPolicy: Sendable, Hashable {
  /// How long a try has to itself before the next. It is 10 ms at least, and a quarter of what is left of the attempt's
  /// time at most.
  public enum Delay: Sendable, Hashable {
    /// As long as this share of first tries took in the last 30 to 60 s. While fewer than 50 are known: `fallback`, or
    /// no hedge where that is `nil`.
    case percentile(Double, fallback: Duration? = nil)
    /// So long.
    case fixed(Duration)
  }

  /// Further tries at most. Default 1.
  public let additional: Int
  /// How long each try has before the next. Default: as long as 95 % of first tries took.
  public let delay: Delay
  /// Hedges for each first try, in the long run. Default 0.05.
  public let budgetRatio: Double
  /// Hedges that may come together. Default 10.
  public let budgetBurst: Int

  /// One hedge, after as long as 95 % took, for a twentieth of all requests.
  public static let standard = HedgingPolicy()

  private init() { (additional, delay, budgetRatio, budgetBurst) = (1, .percentile(0.95), 0.05, 10) }

  /// Makes a policy; the defaults are those of ``standard``.
  ///
  /// - Parameters:
  ///   - additional: 1 to 4.
  ///   - delay: a percentile above 0 and at most 1, or a duration of 1 ms or more, as its fallback.
  ///   - budgetRatio: above 0, and at most 1.
  ///   - budgetBurst: 1 to 1,000,000.
  /// - Throws: `ConfigurationError`, with the value that cannot work.
  public init(
    additional: Int = 1, delay: Delay = .percentile(0.95), budgetRatio: Double = 0.05, budgetBurst: Int = 10
  ) throws(ConfigurationError) {
    guard (1...4).contains(additional) else {
      throw ConfigurationError(
        "additional is \(additional), outside of 1…4", hint: "give 1: more tries help little and cost much")
    }
    switch delay {
    case .percentile(let share, let fallback):
      try ConfigurationError.check(ratio: "percentile", share)
      if let fallback { try ConfigurationError.check("fallback", fallback, atLeast: .milliseconds(1)) }
    case .fixed(let delay): try ConfigurationError.check("delay", delay, atLeast: .milliseconds(1))
    }
    try ConfigurationError.check(ratio: "budgetRatio", budgetRatio)
    try ConfigurationError.check("budgetBurst", budgetBurst, atLeast: 1, atMost: 1_000_000)
    self.additional = additional
    self.delay = delay
    self.budgetRatio = budgetRatio
    self.budgetBurst = budgetBurst
  }
}
