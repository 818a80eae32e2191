// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl

/// The settings that a deployment would read from its environment.
struct ShopSettings: Sendable {
  var prices: URL
  var stock: URL
  var rates: [String]
  var client: String
  var secret: Secret
  /// The pins of the key in use and of the backup key, which is kept offline.
  var pins: [String]
  /// The options with the addresses of the host names and the trusted roots.
  var connection: ConnectionOptions
  var time: TimeSource
  /// The state that the instances of the service share. Default `nil`: the service is one instance.
  var shared: SharedState?
  /// Returns a stack on the engine.
  var stack: @Sendable (CurlNetworkStack, StackConfiguration) -> any HTTPNetworkStack = {
    CurlNetworkStack(sharing: $0, configuration: $1)
  }
}
