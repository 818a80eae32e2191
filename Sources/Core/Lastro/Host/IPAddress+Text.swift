// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import LastroWire

extension IPAddress {
  /// Parses an IPv4 address, or an IPv6 address without brackets and zone; returns `nil` for other text.
  package init?(parsing text: String) {
    var four = in_addr(), six = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      self.init(ipv4: UInt32(bigEndian: four.s_addr))
    } else {
      guard inet_pton(AF_INET6, text, &six) == 1, let address = withUnsafeBytes(of: six, { IPAddress($0) }) else {
        return nil
      }
      self = address
    }
  }
}
