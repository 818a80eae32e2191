// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import LastroSupport
package import LastroWire

/// The parser of hosts, for requests and policies alike. It returns the canonical form that is compared, logged and
/// sent.
package enum HostReader {
  /// Parses a name, or an IPv4 address in its usual form.
  ///
  /// - Parameter text: the host, without final dot and percent-encoding.
  package static func name(_ text: String) throws(HostProblem) -> (text: String, isAddress: Bool) {
    if let plain = PlainAuthority(text), plain.hostLength == text.utf8.count {
      return (plain.isLowerCase ? text : text.lowercased(), plain.isAddress)
    }
    return try generalName(text)
  }

  /// Parses a name that may contain Unicode, which is slower.
  package static func generalName(_ text: String) throws(HostProblem) -> (text: String, isAddress: Bool) {
    // About twice the maximum length of a name. This limits the work that a long text causes.
    guard text.utf8.count <= 512 else {
      throw HostProblem("the host has \(text.utf8.count) bytes, above the maximum of 253", hint: "shorten it")
    }
    let name = try DomainName.ascii(text, composing: Composition.nfc)
    guard endsInNumber(name) else { return (name, false) }
    guard isIPv4(name) else {
      throw HostProblem(
        "the host ends in a number and is not an IPv4 address",
        hint: "write four numbers from 0 to 255, without zeros in front")
    }
    return (name, true)
  }

  /// Parses an IPv6 address without brackets, and returns it as in RFC 5952.
  static func ipv6(_ text: String) throws(HostProblem) -> String {
    guard !text.utf8.contains(UInt8(ascii: "%")) else {
      throw HostProblem(
        "the IPv6 address has a zone", hint: "leave it out, and choose the interface in ConnectionOptions")
    }
    // `inet_pton` would stop at a NUL.
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw HostProblem(
        "the IPv6 address has a space, a control character, or one that is not ASCII", hint: "remove it")
    }
    var address = in6_addr()
    guard text.utf8.count < Int(INET6_ADDRSTRLEN), inet_pton(AF_INET6, text, &address) == 1 else {
      throw HostProblem("the host is not an IPv6 address", hint: "write it as in 2001:db8::1")
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      // This cannot fail: the buffer is large enough for any address.
      inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count)).map { String(cString: $0) } ?? text
    }
  }

  /// Returns whether a host must be an IPv4 address, by the rule of the WHATWG URL standard.
  private static func endsInNumber(_ host: String) -> Bool {
    guard let last = host.utf8.split(separator: UInt8(ascii: ".")).last else { return false }
    return last.allSatisfy(\.isDigit)
      || (last.starts(with: "0x".utf8) && last.dropFirst(2).allSatisfy { $0.hexadecimalValue != nil })
  }

  private static func isIPv4(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        guard part.utf8.count <= 3, part.utf8.allSatisfy(\.isDigit), let value = Int(part) else { return false }
        return value < 256 && (part.utf8.count == 1 || part.utf8.first != UInt8(ascii: "0"))
      }
  }
}
