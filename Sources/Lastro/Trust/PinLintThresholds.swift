// SPDX-License-Identifier: Apache-2.0

/// How long before an end ``ServerTrustEvaluator/Configuration/lint(served:at:thresholds:)`` speaks of it.
public struct PinLintThresholds: Sendable, Hashable {
  /// Before the expiration of a policy. Default 30 days.
  public var policyExpiration: Duration = .seconds(30 * 86_400)
  /// Before that of a served certificate. Default 7 days: certificates that live for 47 days are renewed some 15 before.
  public var certificateExpiration: Duration = .seconds(7 * 86_400)

  /// Makes the default ones.
  public init() {}
}
