// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The addresses of a name, and their time to live.
public struct ResolvedName: Sendable, Hashable {
  /// The addresses in canonical text, IPv6 without brackets, best first. Empty if the name has none. An engine tries
  /// the first 64.
  public let addresses: [String]
  /// The time for which the addresses may be cached. Default `nil`: unknown.
  public var timeToLive: Duration?

  /// Creates the result of a look-up.
  ///
  /// - Parameters:
  ///   - addresses: IPv4 addresses in dotted decimal, or IPv6 addresses with or without brackets; no names, no zones.
  ///   - timeToLive: the time for which the addresses may be cached.
  /// - Throws: `TransportError`, stage `resolve`, code `invalid_option`, for a text that is not an address.
  public init(addresses: [String], timeToLive: Duration? = nil) throws(TransportError) {
    var canonical: [String] = []
    for address in addresses {
      guard let name = try? HostName(address), name.isIPAddress else { throw .notAnAddress(address) }
      canonical.append(name.text)
    }
    self.addresses = canonical
    self.timeToLive = timeToLive
  }

  private init(_ addresses: [String], timeToLive: Duration?) {
    self.addresses = addresses
    self.timeToLive = timeToLive
  }

  /// Returns the addresses in a random order. The family of the first address stays first, and addresses change places
  /// only within their family: which family is better is for the resolver to decide.
  func shuffled(by random: RandomSource) -> Self {
    guard addresses.count > 1 else { return self }
    let families = Dictionary(grouping: addresses) { $0.utf8.contains(UInt8(ascii: ":")) }
    let isIPv6 = families[true]?.first == addresses.first
    let shuffled = [isIPv6, !isIPv6].flatMap { Self.shuffled(families[$0] ?? [], by: random) }
    return Self(shuffled, timeToLive: timeToLive)
  }

  private static func shuffled(_ addresses: [String], by random: RandomSource) -> [String] {
    var addresses = addresses
    for last in addresses.indices.dropFirst().reversed() {
      addresses.swapAt(last, Int(random.next() % UInt64(last + 1)))
    }
    return addresses
  }
}
