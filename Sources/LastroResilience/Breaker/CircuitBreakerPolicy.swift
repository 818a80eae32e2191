// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// When a circuit opens, for how long, and what closes it again.
///
/// ```swift
/// let policy = try CircuitBreakerPolicy(failureRatio: 0.25, breakDuration: .seconds(10))
/// ```
public struct CircuitBreakerPolicy: Sendable, Hashable {
  /// What is counted.
  public enum Window: Sendable, Hashable {
    /// The attempts of the last so many seconds, in ten buckets.
    case time(Duration)
    /// The last so many attempts.
    case calls(Int)
  }

  /// What is counted. Default: 30 s.
  public let window: Window
  /// Attempts in the window below which the circuit stays closed. Default 20.
  public let minimumCalls: Int
  /// The share of failures that opens it. Default 0.5.
  public let failureRatio: Double
  /// So many failures with no success between them, over a second or longer, open it too, whatever their share: after
  /// a time in which all was well, it takes long until half of the window has failed. `nil`: only the share counts.
  /// Default 20.
  public let consecutiveFailures: Int?
  /// Attempts that take longer are slow; `nil`, the default: none is.
  public let slowCallDuration: Duration?
  /// The share of slow attempts that opens it. Default 1.
  public let slowCallRatio: Double
  /// How long it is open, a tenth more or less at random. Default 5 s. Where probes fail, a twentieth of the time since
  /// it opened first, once that is longer: so a server that is back is not left alone for much longer than it was away.
  public let breakDuration: Duration
  /// The longest that it is open, but for a `Retry-After` that is longer. Default 60 s.
  public let maximumBreakDuration: Duration
  /// How many attempts are let through when it has been open for long enough; all have to succeed. Default 3.
  public let probes: Int

  /// 30 s in ten buckets, at least 20 attempts, half of them failed, or the last 20; open for 5 s to 60 s; 3 probes.
  public static let standard = CircuitBreakerPolicy()

  private init() {
    window = .time(.seconds(30))
    minimumCalls = 20
    failureRatio = 0.5
    consecutiveFailures = 20
    slowCallDuration = nil
    slowCallRatio = 1
    breakDuration = .seconds(5)
    maximumBreakDuration = .seconds(60)
    probes = 3
  }

  /// Makes a policy; the defaults are those of ``standard``.
  ///
  /// - Parameters:
  ///   - window: what is counted. It should be twice as long as an attempt may take, or more.
  ///   - minimumCalls: 2 or more, and no more than a window of calls has.
  ///   - failureRatio: above 0, and at most 1.
  ///   - consecutiveFailures: 2 or more.
  ///   - slowCallDuration: attempts that take longer are slow.
  ///   - slowCallRatio: above 0, and at most 1.
  ///   - breakDuration: 500 ms or more.
  ///   - maximumBreakDuration: `breakDuration` or more.
  ///   - probes: 1 or more.
  /// - Throws: `ConfigurationError`, with the value that cannot work.
  public init(
    window: Window = .time(.seconds(30)), minimumCalls: Int = 20, failureRatio: Double = 0.5,
    consecutiveFailures: Int? = 20, slowCallDuration: Duration? = nil, slowCallRatio: Double = 1,
    breakDuration: Duration = .seconds(5), maximumBreakDuration: Duration = .seconds(60), probes: Int = 3
  ) throws(ConfigurationError) {
    try Self.check(window)
    // A window that never has so many would never open.
    if case .calls(let count) = window {
      try ConfigurationError.check("minimumCalls", minimumCalls, atLeast: 2, atMost: count)
    } else {
      try ConfigurationError.check("minimumCalls", minimumCalls, atLeast: 2)
    }
    try ConfigurationError.check("probes", probes, atLeast: 1)
    try ConfigurationError.check(ratio: "failureRatio", failureRatio)
    if let consecutiveFailures {
      try ConfigurationError.check("consecutiveFailures", consecutiveFailures, atLeast: 2)
    }
    try ConfigurationError.check(ratio: "slowCallRatio", slowCallRatio)
    try ConfigurationError.check("breakDuration", breakDuration, atLeast: .milliseconds(500))
    try ConfigurationError.check("maximumBreakDuration", maximumBreakDuration, atLeast: breakDuration)
    self.window = window
    self.minimumCalls = minimumCalls
    self.failureRatio = failureRatio
    self.consecutiveFailures = consecutiveFailures
    self.slowCallDuration = slowCallDuration
    self.slowCallRatio = slowCallRatio
    self.breakDuration = breakDuration
    self.maximumBreakDuration = maximumBreakDuration
    self.probes = probes
  }

  private static func check(_ window: Window) throws(ConfigurationError) {
    switch window {
    case .time(let duration): try ConfigurationError.check("window", duration, atLeast: .seconds(1))
    case .calls(let count): try ConfigurationError.check("window", count, atLeast: 2, atMost: 100_000)
    }
  }
}
