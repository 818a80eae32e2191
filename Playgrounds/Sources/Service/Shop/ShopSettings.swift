// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl

/// What a deployment would read from its environment.
struct ShopSettings: Sendable {
  var prices: URL
  var stock: URL
  var rates: [String]
  var client: String
  var secret: Secret
  /// Of the key in use, and of the backup, which lies in a safe.
  var pins: [String]
  /// Where the names are, and whose certificates are believed.
  var connection: ConnectionOptions
  var time: TimeSource
  /// Makes a stack on the engine.
  var stack: @Sendable (CurlNetworkStack, StackConfiguration) -> any HTTPNetworkStack = {
    CurlNetworkStack(sharing: $0, configuration: $1)
  }
}
