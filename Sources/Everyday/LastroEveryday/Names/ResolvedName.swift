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
  /// Creates a copy with the addresses in another order.
  init(_ addresses: [String], of name: ResolvedName) {
    self.addresses = addresses
    timeToLive = name.timeToLive
  }
}
