// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A server that is one of several equivalent ones.
package struct Endpoint: Sendable, Hashable {
  /// The server.
  package let origin: Origin
  /// The tier of the endpoint; a tier is used only while no lower tier has a healthy endpoint. Default 0, the first.
  package let tier: Int

  /// Creates an endpoint.
  ///
  /// - Parameters:
  ///   - url: an absolute `http` or `https` URL; everything after the port is ignored.
  ///   - tier: 0 or more.
  /// - Throws: `ConfigurationError` for an invalid URL, or a tier out of range.
  package init(_ url: String, tier: Int = 0) throws(ConfigurationError) {
    origin = try Origin(url)
    try ConfigurationError.check("tier", tier, atLeast: 0)
    self.tier = tier
  }
}

/// The way one of the healthy endpoints of a tier is chosen.
package enum BalancingPolicy: Sendable, Hashable, CaseIterable {
  /// The better of two random endpoints, by latency over the last 10 s and attempts in flight.
  case leastLoaded
  /// Round robin.
  case roundRobin
}
