// SPDX-License-Identifier: Apache-2.0

/// The purpose of an address, by the registries of special-purpose addresses (RFC 6890) and by what clouds add to them.
package enum AddressClass: String, Sendable, Hashable, CaseIterable {
  /// A host on the Internet.
  case global
  case thisNetwork = "this network"
  case privateUse = "private"
  /// An address behind a carrier's NAT (RFC 6598). Alibaba's metadata service is in this range.
  case shared
  case loopback
  /// A link-local address. Most clouds have their metadata service in this range.
  case linkLocal = "link-local"
  /// IETF protocol assignments. Oracle's metadata service is in this range.
  case protocolAssignments = "protocol assignments"
  case documentation
  case benchmarking
  /// Addresses of 6to4 relays, AS112 and AMT. The registry calls them global, but no service uses them.
  case relays
  case multicast
  case reserved
  case broadcast
  /// The host of an Azure virtual machine, which has a public address.
  case platform
  case unspecified
  case siteLocal = "site-local"
  case uniqueLocal = "unique local"
  case discardOnly = "discard-only"
  case segmentRouting = "segment routing"
  /// An address outside 2000::/3, which is not assigned.
  case unassigned
  case ipv4Compatible = "IPv4-compatible"
  case nat64 = "NAT64"
  case localNAT64 = "local NAT64"
  case sixToFour = "6to4"
  case teredo = "Teredo"
  case isatap = "ISATAP"

  package init(_ address: IPAddress) {
    let address = address.unmapped
    self =
      address.isIPv4 ? Self.ofIPv4(UInt32(truncatingIfNeeded: address.low)) : Self.ofIPv6(address.high, address.low)
  }

  private static func ofIPv4(_ address: UInt32) -> Self {
    switch address {
    case 0x0000_0000...0x00FF_FFFF: .thisNetwork
    case 0x0A00_0000...0x0AFF_FFFF: .privateUse
    case 0x6440_0000...0x647F_FFFF: .shared
    case 0x7F00_0000...0x7FFF_FFFF: .loopback
    case 0xA83F_8110: .platform
    case 0xA9FE_0000...0xA9FE_FFFF: .linkLocal
    case 0xAC10_0000...0xAC1F_FFFF: .privateUse
    case 0xC000_0000...0xC000_00FF: .protocolAssignments
    case 0xC000_0200...0xC000_02FF: .documentation
    case 0xC01F_C400...0xC01F_C4FF, 0xC034_C100...0xC034_C1FF, 0xC058_6300...0xC058_63FF: .relays
    case 0xC0A8_0000...0xC0A8_FFFF: .privateUse
    case 0xC0AF_3000...0xC0AF_30FF: .relays
    case 0xC612_0000...0xC613_FFFF: .benchmarking
    case 0xC633_6400...0xC633_64FF, 0xCB00_7100...0xCB00_71FF: .documentation
    case 0xE000_0000...0xEFFF_FFFF: .multicast
    case 0xFFFF_FFFF: .broadcast
    case 0xF000_0000...0xFFFF_FFFE: .reserved
    default: .global
    }
  }

  private static func ofIPv6(_ high: UInt64, _ low: UInt64) -> Self {
    switch high {
    case 0 where low == 0: .unspecified
    case 0 where low == 1: .loopback
    case 0 where low >> 32 == 0: .ipv4Compatible
    case 0x0064_FF9B_0000_0000 where low >> 32 == 0: .nat64
    case 0x0064_FF9B_0001_0000...0x0064_FF9B_0001_FFFF: .localNAT64
    case 0x0100_0000_0000_0000...0x0100_0000_0000_0001: .discardOnly
    case 0x2001_0000_0000_0000...0x2001_0000_FFFF_FFFF: .teredo
    case 0x2001_0000_0000_0000...0x2001_01FF_FFFF_FFFF: .protocolAssignments
    case 0x2001_0DB8_0000_0000...0x2001_0DB8_FFFF_FFFF: .documentation
    case 0x2002_0000_0000_0000...0x2002_FFFF_FFFF_FFFF: .sixToFour
    case 0x2620_004F_8000_0000...0x2620_004F_8000_FFFF: .relays
    case 0x3FFF_0000_0000_0000...0x3FFF_0FFF_FFFF_FFFF: .documentation
    case 0x5F00_0000_0000_0000...0x5F00_FFFF_FFFF_FFFF: .segmentRouting
    case 0xFC00_0000_0000_0000...0xFDFF_FFFF_FFFF_FFFF: .uniqueLocal
    case 0xFE80_0000_0000_0000...0xFEBF_FFFF_FFFF_FFFF: .linkLocal
    case 0xFEC0_0000_0000_0000...0xFEFF_FFFF_FFFF_FFFF: .siteLocal
    case 0xFF00_0000_0000_0000...: .multicast
    // With and without the "universal" bit (RFC 5214 §6.1).
    case 0x2000_0000_0000_0000...0x3FFF_FFFF_FFFF_FFFF where low >> 32 & 0xFDFF_FFFF == 0x0000_5EFE: .isatap
    case 0x2000_0000_0000_0000...0x3FFF_FFFF_FFFF_FFFF: .global
    default: .unassigned
    }
  }

  /// Whether addresses of this class lead to an IPv4 address that they embed.
  package var embedsIPv4: Bool {
    switch self {
    case .ipv4Compatible, .nat64, .localNAT64, .sixToFour, .teredo, .isatap: true
    default: false
    }
  }

  /// Returns the IPv4 addresses that an address of this class leads to.
  func embedded(in address: IPAddress) -> [UInt32] {
    let last = UInt32(truncatingIfNeeded: address.low)
    switch self {
    case .ipv4Compatible, .nat64, .isatap: return [last]
    // The prefix has 48 bits, or 96 bits within it (RFC 8215); the remaining bits show which.
    case .localNAT64:
      return address.low & 0xFF_FFFF_FFFF == 0 ? address.embedded(behind: 48).map { [$0] } ?? [] : [last]
    case .sixToFour: return [UInt32(truncatingIfNeeded: address.high >> 16)]
    // The client's address is inverted (RFC 4380 §4); the server's address precedes it.
    case .teredo: return [~last, UInt32(truncatingIfNeeded: address.high)]
    default: return []
    }
  }
}
