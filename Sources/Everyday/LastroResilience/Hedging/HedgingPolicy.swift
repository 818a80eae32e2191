// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The rules for sending a slow request a second time, and the budget for that. A ``Hedger`` applies them.
package struct HedgingPolicy: Sendable, Hashable {
  /// The maximum number of additional tries. Default 1.
  package let additional: Int
  /// The time between two tries. Default: the 95th percentile of the latency of first tries.
  package let delay: Hedger.Delay
  /// The long-term number of hedges per first try. Default 0.05.
  package let budgetRatio: Double
  /// The maximum number of hedges in a burst. Default 10.
  package let budgetBurst: Int

  /// The default policy: one hedge after the 95th percentile of the latency, for at most a twentieth of all requests.
  package static let standard = HedgingPolicy()

  private init() { (additional, delay, budgetRatio, budgetBurst) = (1, .percentile(0.95), 0.05, 10) }

  /// Creates a policy; the defaults are those of ``standard``. The initializer of ``Hedger`` has the same parameters
  /// and describes them.
  ///
  /// - Throws: `ConfigurationError` that names the invalid value.
  package init(
    additional: Int = 1, delay: Hedger.Delay = .percentile(0.95), budgetRatio: Double = 0.05, budgetBurst: Int = 10
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
