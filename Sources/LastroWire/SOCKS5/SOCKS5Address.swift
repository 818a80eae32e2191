// SPDX-License-Identifier: Apache-2.0

/// Where a tunnel leads, as SOCKS 5 writes it (RFC 1928 §5), and as Shadowsocks does.
package struct SOCKS5Address: Equatable, Sendable {
  package enum Host: Equatable, Sendable {
    case name(String)
    /// 4 bytes.
    case ipv4([UInt8])
    /// 16 bytes.
    case ipv6([UInt8])
  }

  /// What the first bytes of a stream are.
  package enum Beginning: Equatable, Sendable {
    /// The address, and how many bytes it has.
    case address(SOCKS5Address, length: Int)
    case incomplete
    /// Of an unknown type, or with a name of no bytes or of bytes that are no text.
    case invalid
  }

  package let host: Host
  package let port: UInt16

  package init(host: Host, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// - Throws: ``SOCKS5Failure`` of kind `target`.
  package func bytes() throws(SOCKS5Failure) -> [UInt8] {
    let port = [UInt8(port >> 8), UInt8(port & 0xFF)]
    switch host {
    case .ipv4(let bytes) where bytes.count == 4: return [1] + bytes + port
    case .ipv6(let bytes) where bytes.count == 16: return [4] + bytes + port
    case .name(let name):
      let length = name.utf8.count
      guard (1...255).contains(length) else {
        throw SOCKS5Failure(.target, "the host's name has \(length) bytes; a proxy can be told 1 to 255")
      }
      return [3, UInt8(length)] + Array(name.utf8) + port
    case .ipv4, .ipv6: throw SOCKS5Failure(.target, "the host's address does not have 4 or 16 bytes")
    }
  }

  /// Reads the address that stands at the front.
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
