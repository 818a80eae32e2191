// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The rules for sending a slow request a second time, and the budget for that. A ``Hedger`` applies them.
package struct HedgingPolicy: Sendable, Hashable {
  /// The maximum number of additional tries. Default 1.
  package var additional = 1
  /// The time between two tries. Default: the 95th percentile of the latency of first tries.
  package var delay = Hedger.Delay.percentile(0.95)
  /// The long-term number of hedges per first try. Default 0.05.
  package var budgetRatio = 0.05
  /// The maximum number of hedges in a burst. Default 10.
  package var budgetBurst = 10

  /// The default policy: one hedge after the 95th percentile of the latency, for at most a twentieth of all requests.
  package static let standard = HedgingPolicy()

  /// Checks the values.
  ///
  /// - Throws: `ConfigurationError` that names the invalid value.
  func check() throws(ConfigurationError) {
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
  }
}
