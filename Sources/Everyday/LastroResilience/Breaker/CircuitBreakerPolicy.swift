// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The rules for opening a circuit, keeping it open and closing it again.
package struct CircuitBreakerPolicy: Sendable, Hashable {
  /// The set of attempts that is counted. Default: those of the last 30 s.
  package let window: CircuitBreaker.Window
  /// The number of attempts in the window below which the circuit stays closed. Default 20.
  package let minimumCalls: Int
  /// The share of failures that opens the circuit. Default 0.5.
  package let failureRatio: Double
  /// The number of consecutive failures, spread over at least one second, that opens the circuit regardless of the
  /// share of failures. It shortens detection after a healthy period, when half of the window would take long to fail.
  /// It applies from `minimumCalls` attempts on. `nil`: only the share counts. Default 20.
  package let consecutiveFailures: Int?
  /// The duration above which an attempt counts as slow. Default `nil`: no attempt counts as slow.
  package let slowCallDuration: Duration?
  /// The share of slow attempts that opens the circuit. Default 1.
  package let slowCallRatio: Double
  /// The length of a break, with random jitter of ±10 %. Default 5 s. If probes fail, the break grows to one
  /// twentieth of the time since the circuit first opened, once that is longer. A server that recovers is thus not
  /// avoided for much longer than its outage lasted.
  package let breakDuration: Duration
  /// The longest break, unless the server sends a longer `Retry-After`. Default 60 s.
  package let maximumBreakDuration: Duration
  /// The number of probes that are admitted after a break; all of them must succeed. Default 3.
  package let probes: Int

  /// The default policy: a window of 30 s in ten buckets, at least 20 attempts, and half of them or the last 20 failed.
  /// The circuit stays open for 5 s to 60 s, followed by 3 probes.
  package static let standard = CircuitBreakerPolicy()

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

  /// Creates a policy; the defaults are those of ``standard``. The initializer of ``CircuitBreaker`` has the same
  /// parameters and describes them.
  ///
  /// - Throws: `ConfigurationError` that names the invalid value.
  package init(
    window: CircuitBreaker.Window = .time(.seconds(30)), minimumCalls: Int = 20, failureRatio: Double = 0.5,
    consecutiveFailures: Int? = 20, slowCallDuration: Duration? = nil, slowCallRatio: Double = 1,
    breakDuration: Duration = .seconds(5), maximumBreakDuration: Duration = .seconds(60), probes: Int = 3
  ) throws(ConfigurationError) {
    try Self.check(window)
    // A circuit with a window smaller than `minimumCalls` would never open.
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

  private static func check(_ window: CircuitBreaker.Window) throws(ConfigurationError) {
    switch window {
    case .time(let duration): try ConfigurationError.check("window", duration, atLeast: .seconds(1))
    case .calls(let count): try ConfigurationError.check("window", count, atLeast: 2, atMost: 100_000)
    }
  }
}
