// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroWire

/// The validated destination of a tunnel: no part of it can end a line or a length field early.
struct NestedTarget: Equatable {
  let host: SOCKS5Address.Host
  /// The canonical text of the host; IPv6 without brackets.
  let hostText: String
  let port: Int

  init(host: String, port: Int) throws(TransportError) {
    guard (1...65_535).contains(port) else { throw .portOutOfRange(port) }
    let isBracketed = host.utf8.first == UInt8(ascii: "[")
    let isIPv6 = host.utf8.contains(UInt8(ascii: ":")) && !isBracketed
    let name: String
    do throws(ConfigurationError) {
      name = try HostName(host).text
    } catch {
      // Names that certificates and pins cannot have, such as those with an underscore, can still be dialed.
      name = isIPv6 || isBracketed ? "" : try Self.general(host)
    }
    guard !name.isEmpty else {
      throw .refused(.invalidOption, "the host is not an IPv6 address", hint: "write it as in 2001:db8::1")
    }
    hostText = name
    self.port = port
    self.host =
      Self.bytes(of: name, family: AF_INET6, count: 16).map(SOCKS5Address.Host.ipv6)
      ?? Self.bytes(of: name, family: AF_INET, count: 4).map(SOCKS5Address.Host.ipv4) ?? .name(name)
  }

  /// The address in the format of SOCKS 5 and Shadowsocks.
  var address: SOCKS5Address { SOCKS5Address(host: host, port: UInt16(clamping: port)) }

  /// The address in the format of HTTP (RFC 9110 §9.3.6).
  var authority: String { "\(hostText.bracketedHost):\(port)" }

  private static func general(_ host: String) throws(TransportError) -> String {
    do throws(TransportError) {
      return try Authority(host[...]).host
    } catch {
      throw .refused(.invalidOption, error.message, hint: error.hint)
    }
  }

  private static func bytes(of text: String, family: Int32, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}
