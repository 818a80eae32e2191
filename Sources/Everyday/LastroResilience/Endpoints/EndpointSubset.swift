// SPDX-License-Identifier: Apache-2.0

/// The members that one of several instances uses, so that not every instance connects to every member.
///
/// Members are placed on a ring in the order of a hash of their names. Each instance has a place of its own, by its
/// number alone, and uses the members that follow. The places of the instances 0, 1, 2 … are those of van der Corput's
/// sequence, which fills the ring evenly however many instances there are.
///
/// When a member leaves, the subset of an instance changes by at most two members. When an instance joins or leaves, the
/// other subsets stay as they are.
struct EndpointSubset: Sendable, Hashable {
  /// The number of members that the instance uses.
  let size: Int
  /// The number of the instance.
  let instance: Int

  /// Returns the members that the instance uses, for each tier on its own.
  func picked(from endpoints: [Endpoint]) -> [Endpoint] {
    let tiers = Dictionary(grouping: endpoints) { $0.tier }
    return tiers.keys.sorted().flatMap { pickedOfTier(tiers[$0] ?? []) }
  }

  private func pickedOfTier(_ endpoints: [Endpoint]) -> [Endpoint] {
    guard endpoints.count > size else { return endpoints }
    let ring = endpoints.map { (hash: Self.hash("\($0.origin) \($0)"), endpoint: $0) }
      .sorted { $0.hash == $1.hash ? "\($0.endpoint)" < "\($1.endpoint)" : $0.hash < $1.hash }
    let place = Self.reversed(UInt64(truncatingIfNeeded: instance))
    let first = Int(place.multipliedFullWidth(by: UInt64(ring.count)).high)
    return (0..<size).map { ring[(first + $0) % ring.count].endpoint }
  }

  /// Returns the number whose bits are in the opposite order.
  private static func reversed(_ number: UInt64) -> UInt64 {
    (0..<64).reduce(0) { $0 | (number >> UInt64($1) & 1) << UInt64(63 - $1) }
  }

  /// Returns a hash that is the same in every process (FNV-1a, and the last step of SplitMix64).
  static func hash(_ text: String) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
    return hash ^ hash >> 31
  }
}
