// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The rules for ejecting a failing endpoint for a while.
package struct OutlierPolicy: Sendable, Hashable {
  /// The number of consecutive failures that eject an endpoint. Default 5.
  package let consecutiveFailures: Int
  /// The ejection time, multiplied by the number of recent ejections; 300 s at most. Default 30 s.
  package let ejection: Duration
  /// The share of endpoints that may be ejected at once; at least one may be. Default 0.5.
  package let maximumShare: Double

  /// The default policy: five consecutive failures, 30 s, half of the endpoints.
  package static let standard = OutlierPolicy()

  private init() { (consecutiveFailures, ejection, maximumShare) = (5, .seconds(30), 0.5) }

  /// Creates a policy; the defaults are those of ``standard``.
  ///
  /// - Throws: `ConfigurationError` for fewer than one failure, less than a second, and a share that is not more than 0
  ///   and at most 1.
  package init(
    consecutiveFailures: Int = 5, ejection: Duration = .seconds(30), maximumShare: Double = 0.5
  ) throws(ConfigurationError) {
    try ConfigurationError.check("consecutiveFailures", consecutiveFailures, atLeast: 1)
    try ConfigurationError.check("ejection", ejection, atLeast: .seconds(1))
    try ConfigurationError.check(ratio: "maximumShare", maximumShare)
    self.consecutiveFailures = consecutiveFailures
    self.ejection = ejection
    self.maximumShare = maximumShare
  }
}
