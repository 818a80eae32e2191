// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A server that is one of several equivalent ones.
package struct Endpoint: Sendable, Hashable {
  /// The server.
  package let origin: Origin
  /// The endpoint's relative weight within its tier. Default 1.
  package let weight: Int
  /// The tier of the endpoint; a tier is used only while no lower tier has a healthy endpoint. Default 0, the first.
  package let tier: Int

  /// Creates an endpoint.
  ///
  /// - Parameters:
  ///   - url: an absolute `http` or `https` URL; everything after the port is ignored.
  ///   - weight: 1 to 1000.
  ///   - tier: 0 or more.
  /// - Throws: `ConfigurationError` for an invalid URL, or a weight or tier out of range.
  package init(_ url: String, weight: Int = 1, tier: Int = 0) throws(ConfigurationError) {
    origin = try Origin(url)
    guard (1...1000).contains(weight) else {
      throw ConfigurationError(
        "weight is \(weight), outside of 1…1000", hint: "leave the endpoint out to send it no requests")
    }
    try ConfigurationError.check("tier", tier, atLeast: 0)
    self.weight = weight
    self.tier = tier
  }
}

/// The way one of the healthy endpoints of a tier is chosen.
package enum BalancingPolicy: Sendable, Hashable, CaseIterable {
  /// The better of two random endpoints, by latency over the last 10 s and attempts in flight.
  case leastLoaded
  /// Round robin, by weight.
  case roundRobin
  /// Random choice, by weight.
  case random
}
