// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// One of several servers that offer the same.
public struct Endpoint: Sendable, Hashable {
  /// The server.
  public let origin: Origin
  /// Its share among those of its tier. Default 1.
  public let weight: Int
  /// The next tier is used while none of this one is healthy. Default 0, the first.
  public let tier: Int

  /// Makes an endpoint.
  ///
  /// - Parameters:
  ///   - url: an absolute `http` or `https` URL; what stands behind the port is ignored.
  ///   - weight: 1 to 1000.
  ///   - tier: 0 or more.
  /// - Throws: `ConfigurationError` for what is no such URL, and a weight or tier out of range.
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

/// How one of the healthy endpoints of a tier is chosen.
public enum BalancingPolicy: Sendable, Hashable, CaseIterable {
  /// Of two at random, the one that is expected to answer sooner, by its latency of the last 10 s and what is under
  /// way.
  case leastLoaded
  /// In turn, by weight.
  case roundRobin
  /// At random, by weight.
  case random
}

/// When an endpoint is left alone for a while.
public struct OutlierPolicy: Sendable, Hashable {
  /// Failures in a row that eject an endpoint. Default 5.
  public let consecutiveFailures: Int
  /// How long it is ejected, times how often it was ejected of late; 300 s at most. Default 30 s.
  public let ejection: Duration
  /// The share of endpoints that may be ejected at once, one at the least. Default 0.5.
  public let maximumShare: Double

  /// Five failures in a row, 30 s, half of the endpoints.
  public static let standard = OutlierPolicy()

  private init() { (consecutiveFailures, ejection, maximumShare) = (5, .seconds(30), 0.5) }

  /// Makes a policy; the defaults are those of ``standard``.
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
