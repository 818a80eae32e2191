// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A server that is one of several equivalent ones.
package struct Endpoint: Sendable, Hashable, CustomStringConvertible {
  /// The origin of requests to the server.
  package let origin: Origin
  /// The address of the server, if it shares the origin with others. Default `nil`.
  package let address: MemberAddress?
  /// The tier of the endpoint; a tier is used only while no lower tier has a healthy endpoint. Default 0, the first.
  package let tier: Int
  /// The share of requests relative to other endpoints, 1 to 65535. Default 1.
  package let weight: Int

  /// Creates an endpoint.
  ///
  /// - Parameters:
  ///   - url: an absolute `http` or `https` URL; everything after the port is ignored.
  ///   - address: the address of one of several servers with that URL. Default `nil`.
  ///   - tier: 0 or more.
  ///   - weight: 1 to 65535.
  /// - Throws: `ConfigurationError` for an invalid URL, or a number out of range.
  package init(
    _ url: String, address: MemberAddress? = nil, tier: Int = 0, weight: Int = 1
  ) throws(ConfigurationError) {
    try self.init(try Origin(url), address: address, tier: tier, weight: weight)
  }

  package init(
    _ origin: Origin, address: MemberAddress?, tier: Int = 0, weight: Int = 1
  ) throws(ConfigurationError) {
    self.origin = origin
    self.address = address
    try ConfigurationError.check("tier", tier, atLeast: 0)
    self.tier = tier
    try ConfigurationError.check("weight", weight, atLeast: 1, atMost: 65_535)
    self.weight = weight
  }

  /// The address if there is one, else the origin.
  package var description: String { address.map { "\($0)" } ?? "\(origin)" }

  /// The server, whatever its tier and weight.
  struct Identity: Hashable {
    let origin: Origin
    let address: MemberAddress?
  }

  var identity: Identity { Identity(origin: origin, address: address) }
}

/// The way one of the healthy endpoints of a tier is chosen.
package enum BalancingPolicy: Sendable, Hashable, CaseIterable {
  /// The better of two random endpoints, by attempts in flight, and by latency over the last 10 s if one has more than
  /// twice that of the other.
  case leastLoaded
  /// Round robin.
  case roundRobin
}

/// The endpoint that was chosen for an attempt, and why.
struct EndpointChoice: Sendable, Hashable {
  /// The reason for a choice.
  enum Reason: Sendable, Hashable {
    /// No other endpoint could be chosen.
    case only
    /// It is the less loaded one of two.
    case lessLoaded(than: Endpoint)
    /// It is its turn.
    case turn
  }

  /// The identifier of the member.
  let id: Int
  let endpoint: Endpoint
  let reason: Reason
  /// The number of endpoints among which the choice was made, and the number of members.
  let candidates: Int
  let members: Int

  /// The note for ledgers.
  var note: TransferFacts.Note {
    let why =
      switch reason {
      case .only: "no other is usable"
      case .lessLoaded(let other): "less loaded than \(other)"
      case .turn: "its turn"
      }
    return TransferFacts.Note(
      "endpoint", detail: "\(endpoint)", text: "member \(endpoint) (\(why); \(candidates) of \(members) usable)")
  }
}
