// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address, without a zone.
package struct IPAddress: Sendable, Hashable {
  /// The first 64 bits of an IPv6 address; 0 for IPv4.
  package let high: UInt64
  /// The last 64 bits of an IPv6 address; an IPv4 address in its lower half.
  package let low: UInt64
  package let isIPv4: Bool

  package init(ipv4: UInt32) {
    high = 0
    low = UInt64(ipv4)
    isIPv4 = true
  }

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
    isIPv4 = false
  }

  /// Creates an address from 4 or 16 bytes in network byte order; `nil` for any other length.
  package init?(_ bytes: some Collection<UInt8>) {
    func number(_ bytes: some Collection<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    switch bytes.count {
    case 4: self.init(ipv4: UInt32(truncatingIfNeeded: number(bytes)))
    case 16: self.init(high: number(bytes.prefix(8)), low: number(bytes.dropFirst(8)))
    default: return nil
    }
  }

  /// The IPv4 address of an IPv4-mapped address (RFC 4291 §2.5.5.2); otherwise the address itself. Both reach the same
  /// host.
  package var unmapped: IPAddress {
    !isIPv4 && high == 0 && low >> 32 == 0xFFFF ? IPAddress(ipv4: UInt32(truncatingIfNeeded: low)) : self
  }

  /// The number of bits in the address.
  package var width: Int { isIPv4 ? 32 : 128 }

  /// Returns whether both addresses have the same family and the same first bits.
  package func shares(_ bits: Int, with other: IPAddress) -> Bool {
    guard isIPv4 == other.isIPv4 else { return false }
    if isIPv4 { return bits <= 0 || (low ^ other.low) >> UInt64(32 - min(bits, 32)) == 0 }
    if bits <= 64 { return bits <= 0 || (high ^ other.high) >> UInt64(64 - bits) == 0 }
    return high == other.high && (low ^ other.low) >> UInt64(128 - min(bits, 128)) == 0
  }

  /// Returns a byte of an IPv6 address. The index is 0 to 15.
  func byte(_ index: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8) & 0xFF)
  }

  /// Returns the IPv4 address that follows a prefix of 32, 40, 48, 56, 64 or 96 bits (RFC 6052 §2.2). Byte 8 is
  /// skipped.
  func embedded(behind bits: Int) -> UInt32? {
    guard !isIPv4, [32, 40, 48, 56, 64, 96].contains(bits) else { return nil }
    var result: UInt32 = 0
    var index = bits / 8
    for _ in 0..<4 {
      if index == 8 { index = 9 }
      result = result << 8 | byte(index)
      index += 1
    }
    return result
  }
}

/// A range of addresses with a common prefix, optionally limited to some ports.
package struct AddressRange: Sendable, Hashable {
  package let base: IPAddress
  package let bits: Int
  package let ports: ClosedRange<Int>?

  package init(base: IPAddress, bits: Int, ports: ClosedRange<Int>? = nil) {
    self.base = base
    self.bits = bits
    self.ports = ports
  }

  package func contains(_ address: IPAddress, port: Int) -> Bool {
    address.shares(bits, with: base) && ports.map { $0.contains(port) } ?? true
  }
}
