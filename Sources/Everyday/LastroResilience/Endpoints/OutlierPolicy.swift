// SPDX-License-Identifier: Apache-2.0

/// The rules for ejecting a failing endpoint for a while.
package struct OutlierPolicy: Sendable, Hashable {
  /// The number of consecutive failures that eject an endpoint. Default 5.
  package var consecutiveFailures = 5
  /// The ejection time, multiplied by the number of recent ejections; 300 s at most. Default 30 s.
  package var ejection = Duration.seconds(30)
  /// The share of endpoints that may be ejected at once; at least one may be. Default 0.5.
  package var maximumShare = 0.5

  /// The default policy: five consecutive failures, 30 s, half of the endpoints.
  package static let standard = OutlierPolicy()
}
