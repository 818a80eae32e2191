// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The order in which a ``CachingResolver`` returns the addresses of a name for each request.
///
/// The order distributes load among the servers behind a name, because an engine connects to the first address first.
/// The family of the first address stays first, and addresses change places only within their family: which family is
/// better is for the other resolver to decide.
public enum AddressOrder: Sendable, Hashable, CaseIterable {
  /// The order in which the other resolver returned them.
  case asGiven
  /// Rotated by one more position each time.
  case rotated
  /// A random order each time.
  case shuffled

  /// - Parameter turn: the number of earlier requests for the name.
  func applied(to name: ResolvedName, turn: Int, random: RandomSource) -> ResolvedName {
    guard self != .asGiven, name.addresses.count > 1 else { return name }
    let families = Dictionary(grouping: name.addresses) { $0.utf8.contains(UInt8(ascii: ":")) }
    let isIPv6 = families[true]?.first == name.addresses.first
    let ordered = [isIPv6, !isIPv6].flatMap { family in
      let addresses = families[family] ?? []
      return self == .rotated ? Self.rotated(addresses, by: turn) : Self.shuffled(addresses, random)
    }
    return ResolvedName(ordered, of: name)
  }

  private static func rotated(_ addresses: [String], by turn: Int) -> [String] {
    guard !addresses.isEmpty else { return [] }
    let start = turn % addresses.count
    return Array(addresses[start...] + addresses[..<start])
  }

  private static func shuffled(_ addresses: [String], _ random: RandomSource) -> [String] {
    var addresses = addresses
    for last in addresses.indices.dropFirst().reversed() {
      addresses.swapAt(last, Int(random.next() % UInt64(last + 1)))
    }
    return addresses
  }
}
