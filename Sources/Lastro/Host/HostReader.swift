// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
package import LastroWire

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// Reads hosts, for requests and policies alike, into the one form that is compared, logged and sent.
package enum HostReader {
  /// A name, or an IPv4 address in its usual form.
  ///
  /// - Parameter text: without final dot and percent-encoding.
  package static func name(_ text: String) throws(HostProblem) -> (text: String, isAddress: Bool) {
    if let plain = PlainAuthority(text), plain.hostLength == text.utf8.count {
      return (plain.isLowerCase ? text : text.lowercased(), plain.isAddress)
    }
    return try generalName(text)
  }

  /// The long way, for what may be written in Unicode.
  package static func generalName(_ text: String) throws(HostProblem) -> (text: String, isAddress: Bool) {
    // Twice the length that a name may have: lower case and composition never take as much away.
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

  /// An IPv6 address without brackets, as RFC 5952 wants it.
  static func ipv6(_ text: String) throws(HostProblem) -> String {
    guard !text.utf8.contains(UInt8(ascii: "%")) else {
      throw HostProblem(
        "the IPv6 address has a zone", hint: "leave it out, and choose the interface in ConnectionOptions")
    }
    // `inet_pton` would read no further than a NUL.
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw HostProblem(
        "the IPv6 address has a space, a control character, or one that is not ASCII", hint: "remove it")
    }
    var address = in6_addr()
    guard text.utf8.count < Int(INET6_ADDRSTRLEN), inet_pton(AF_INET6, text, &address) == 1 else {
      throw HostProblem("the host is not an IPv6 address", hint: "write it as in 2001:db8::1")
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      // Cannot fail: the buffer holds any address.
      inet_ntop(AF_INET6, &address, buffer.baseAddress, socklen_t(buffer.count)).map { String(cString: $0) } ?? text
    }
  }

  /// As the WHATWG URL standard decides that a host must be an IPv4 address.
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
