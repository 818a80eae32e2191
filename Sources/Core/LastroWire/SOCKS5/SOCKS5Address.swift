// SPDX-License-Identifier: Apache-2.0

/// The target of a tunnel, as SOCKS 5 (RFC 1928 §5) and Shadowsocks encode it.
package struct SOCKS5Address: Equatable, Sendable {
  package enum Host: Equatable, Sendable {
    case name(String)
    /// An IPv4 address of 4 bytes.
    case ipv4([UInt8])
    /// An IPv6 address of 16 bytes.
    case ipv6([UInt8])
  }

  /// The result of parsing the first bytes of a stream.
  package enum Beginning: Equatable, Sendable {
    /// The address and its encoded length in bytes.
    case address(SOCKS5Address, length: Int)
    case incomplete
    /// The type is unknown, or the name is empty or not UTF-8.
    case invalid
  }

  package let host: Host
  package let port: UInt16

  package init(host: Host, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// Returns the encoded address.
  ///
  /// - Throws: ``SOCKS5Failure`` of kind `target`.
  package func bytes() throws(SOCKS5Failure) -> [UInt8] {
    let port = [UInt8(port >> 8), UInt8(port & 0xFF)]
    switch host {
    case .ipv4(let bytes) where bytes.count == 4: return [1] + bytes + port
    case .ipv6(let bytes) where bytes.count == 16: return [4] + bytes + port
    case .name(let name):
      let length = name.utf8.count
      guard (1...255).contains(length) else {
        throw SOCKS5Failure(.target, "the host's name has \(length) bytes, out of range for a proxy (1…255)")
      }
      return [3, UInt8(length)] + Array(name.utf8) + port
    case .ipv4, .ipv6: throw SOCKS5Failure(.target, "the host's address does not have 4 or 16 bytes")
    }
  }

  /// Parses the address at the front of `bytes`.
  package static func first(of bytes: some Collection<UInt8>) -> Beginning {
    let head = [UInt8](bytes.prefix(2))
    guard let type = head.first else { return .incomplete }
    let start = type == 3 ? 2 : 1
    let count: Int
    switch type {
    case 1: count = 4
    case 4: count = 16
    case 3 where head.count < 2: return .incomplete
    case 3 where head[1] > 0: count = Int(head[1])
    default: return .invalid
    }
    let rest = [UInt8](bytes.dropFirst(start).prefix(count + 2))
    guard rest.count == count + 2 else { return .incomplete }
    let host: Host
    switch type {
    case 1: host = .ipv4([UInt8](rest.prefix(count)))
    case 4: host = .ipv6([UInt8](rest.prefix(count)))
    default:
      guard let name = String(validating: rest.prefix(count), as: UTF8.self) else { return .invalid }
      host = .name(name)
    }
    let port = UInt16(rest[count]) << 8 | UInt16(rest[count + 1])
    return .address(SOCKS5Address(host: host, port: port), length: start + count + 2)
  }
}
