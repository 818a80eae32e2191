// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A server that is one of several equivalent ones.
public struct Endpoint: Sendable, Hashable {
  /// The server.
  public let origin: Origin
  /// The endpoint's relative weight within its tier. Default 1.
  public let weight: Int
  /// The tier of the endpoint; a tier is used only while no lower tier has a healthy endpoint. Default 0, the first.
  public let tier: Int

  /// Creates an endpoint.
  ///
  /// - Parameters:
  ///   - url: an absolute `http` or `https` URL; everything after the port is ignored.
  ///   - weight: 1 to 1000.
  ///   - tier: 0 or more.
  /// - Throws: `ConfigurationError` for an invalid URL, or a weight or tier out of range.
  public init(_ url: String, weight: Int = 1, tier: Int = 0) throws(ConfigurationError) {
    origin = try Origin(url)
    guard (1...1000).contains(weight) else {
      throw ConfigurationError("weight is \(weight), outside of 1…1000", hint: "leave the endpoint out to send nothing")
    }
    try ConfigurationError.check("tier", tier, atLeast: 0)
    self.weight = weight
    self.tier = tier
  }
}

/// The way one of the healthy endpoints of a tier is chosen.
public enum BalancingPolicy: Sendable, Hashable, CaseIterable {
  /// The better of two random endpoints, by latency over the last 10 s and attempts in flight.
  case leastLoaded
  /// Round robin, by weight.
  case roundRobin
  /// Random choice, by weight.
  case random
}

/// The rules for ejecting a failing endpoint for a while.
public struct OutlierPolicy: Sendable, Hashable {
  /// The number of consecutive failures that eject an endpoint. Default 5.
  public let consecutiveFailures: Int
  /// The ejection time, multiplied by the number of recent ejections; 300 s at most. Default 30 s.
  public let ejection: Duration
  /// The share of endpoints that may be ejected at once; at least one may be. Default 0.5.
  public let maximumShare: Double

  /// The default policy: five consecutive failures, 30 s, half of the endpoints.
  public static let standard = OutlierPolicy()

  private init() { (consecutiveFailures, ejection, maximumShare) = (5, .seconds(30), 0.5) }

  /// Creates a policy; the defaults are those of ``standard``.
  ///
  /// - Throws: `ConfigurationError` for fewer than one failure, less than a second, and a share outside 0…1.
  public init(
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
