// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The addresses of a name, and for how long they hold.
public struct ResolvedName: Sendable, Hashable {
  /// In their canonical text, IPv6 without brackets, the best first. Empty: the name has none. An engine tries the
  /// first 64.
  public let addresses: [String]
  /// For how long they may be kept. Default `nil`: not known.
  public var timeToLive: Duration?

  /// Makes the answer to a look-up.
  ///
  /// - Parameters:
  ///   - addresses: IPv4 in dotted decimal, or IPv6 with or without brackets; no names, no zones.
  ///   - timeToLive: for how long they may be kept.
  /// - Throws: `TransportError`, stage `resolve`, code `invalid_option`, for what is no address.
  public init(addresses: [String], timeToLive: Duration? = nil) throws(TransportError) {
    var canonical: [String] = []
    for address in addresses {
      guard let name = try? HostName(address), name.isIPAddress else { throw .notAnAddress(address) }
      canonical.append(name.text)
    }
    self.addresses = canonical
    self.timeToLive = timeToLive
  }
  /// The same addresses in another order.
  init(_ addresses: [String], of name: ResolvedName) {
    self.addresses = addresses
    timeToLive = name.timeToLive
  }
}
