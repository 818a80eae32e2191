// SPDX-License-Identifier: Apache-2.0

import LastroFleet

/// The state that the instances of the service share: one token, and one quota of the price API.
struct SharedState: Sendable {
  var store: any FleetStore
  var key: SealingKey
  /// The largest number of instances that run at the same time.
  var instances: Int
  /// The quota of the price API, in requests a second and in a burst.
  var pricesPerSecond: Double
  var pricesInBurst: Int
}
