// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// In which order a ``CachingResolver`` gives the addresses of a name, each time that it is asked.
///
/// Servers behind one name share their load by it, for an engine begins with the first address. The family of the first
/// address stays the first, and addresses change places with those of their own family alone: which one is better is
/// for the other resolver to say.
public enum AddressOrder: Sendable, Hashable, CaseIterable {
  /// As the other resolver gave them.
  case asGiven
  /// Each time one further: the one that was first is the last.
  case rotated
  /// At random.
  case shuffled

  /// - Parameter turn: how often the name was asked for before.
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
