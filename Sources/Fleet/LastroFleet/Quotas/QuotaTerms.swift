// SPDX-License-Identifier: Apache-2.0

internal import LastroResilience

/// The size of a shared quota, and the parts in which it is held.
///
/// In any period, all instances together send at most `burst` requests, and `perSecond` for each second. A unit that
/// was generated and not used yet is in one of three places, whose sizes add up to the burst: with the instance that
/// owns its fraction, in the stock of the store, or in a lease that an instance took from the stock.
struct QuotaTerms: Sendable, Hashable {
  /// The number of requests per second of all instances.
  let perSecond: Double
  /// The number of requests that all instances may send beyond that.
  let burst: Double
  /// The number of instances that own a fraction; `nil` if none does.
  let instances: Int?

  init(_ pace: Pacer.Pace, _ whenUnshared: WhenUnshared) {
    perSecond = pace.perSecond
    // A lease must last longer than a round trip, and each instance may send one request at any time.
    let least: Double
    switch whenUnshared {
    case .fraction(let count):
      instances = count
      least = 2 * Double(count)
    case .wait:
      instances = nil
      least = 2
    }
    burst = max(Double(pace.burst), least, pace.perSecond)
  }

  /// The number of units per second that an instance generates itself.
  var ownPerSecond: Double { instances.map { perSecond / Double($0) } ?? 0 }

  /// The number of its own units that an instance keeps.
  var ownLimit: Double { instances.map { burst / 2 / Double($0) } ?? 0 }

  /// The number of its own units that an instance does not lend, for requests that come unexpectedly.
  var kept: Double { ownLimit >= 2 ? ownLimit / 2 : 0 }

  /// The number of units that the store keeps.
  var stockLimit: Double { instances == nil ? burst / 2 : burst / 4 }

  /// The time after which leased units are lost if they were not used.
  var lease: Duration { .seconds(min(30, burst / (instances == nil ? 2 : 4) / perSecond)) }

  /// The shortest time between two exchanges with the store while units are needed or lent.
  var interval: Duration { min(lease * 0.6, .seconds(4)) }

  /// The number of units per second that the store generates: for the instances that do not run.
  func stockPerSecond(members: Int) -> Double {
    guard let instances else { return perSecond }
    return ownPerSecond * Double(max(0, instances - members))
  }
}
