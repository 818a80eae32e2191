// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The rules for opening a circuit, keeping it open and closing it again.
package struct CircuitBreakerPolicy: Sendable, Hashable {
  /// The set of attempts that is counted. Default: those of the last 30 s.
  package var window = CircuitBreaker.Window.time(.seconds(30))
  /// The number of attempts in the window below which the circuit stays closed. Default 20.
  package var minimumCalls = 20
  /// The share of failures that opens the circuit. Default 0.5.
  package var failureRatio = 0.5
  /// The number of consecutive failures, spread over at least one second, that opens the circuit regardless of the
  /// share of failures. It shortens detection after a healthy period, when half of the window would take long to fail.
  /// It applies from `minimumCalls` attempts on. `nil`: only the share counts. Default 20.
  package var consecutiveFailures: Int? = 20
  /// The duration above which an attempt counts as slow. Default `nil`: no attempt counts as slow.
  package var slowCallDuration: Duration?
  /// The share of slow attempts that opens the circuit. Default 1.
  package var slowCallRatio = 1.0
  /// The length of a break, with random jitter of ±10 %. Default 5 s. If probes fail, the break grows to one
  /// twentieth of the time since the circuit first opened, once that is longer. A server that recovers is thus not
  /// avoided for much longer than its outage lasted.
  package var breakDuration = Duration.seconds(5)
  /// The longest break, unless the server sends a longer `Retry-After`. Default 60 s.
  package var maximumBreakDuration = Duration.seconds(60)
  /// The number of probes that are admitted after a break; all of them must succeed. Default 3.
  package var probes = 3

  /// The default policy: a window of 30 s in ten buckets, at least 20 attempts, and half of them or the last 20 failed.
  /// The circuit stays open for 5 s to 60 s, followed by 3 probes.
  package static let standard = CircuitBreakerPolicy()

  /// Checks the values.
  ///
  /// - Throws: `ConfigurationError` that names the invalid value.
  func check() throws(ConfigurationError) {
    switch window {
    case .time(let duration):
      try ConfigurationError.check("window", duration, atLeast: .seconds(1))
      try ConfigurationError.check("minimumCalls", minimumCalls, atLeast: 2)
    case .calls(let count):
      try ConfigurationError.check("window", count, atLeast: 2, atMost: 100_000)
      // A circuit with a window smaller than `minimumCalls` would never open.
      try ConfigurationError.check("minimumCalls", minimumCalls, atLeast: 2, atMost: count)
    }
    try ConfigurationError.check("probes", probes, atLeast: 1)
    try ConfigurationError.check(ratio: "failureRatio", failureRatio)
    if let consecutiveFailures {
      try ConfigurationError.check("consecutiveFailures", consecutiveFailures, atLeast: 2)
    }
    try ConfigurationError.check(ratio: "slowCallRatio", slowCallRatio)
    try ConfigurationError.check("breakDuration", breakDuration, atLeast: .milliseconds(500))
    try ConfigurationError.check("maximumBreakDuration", maximumBreakDuration, atLeast: breakDuration)
  }
}
