// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// Host and port of a URL, checked.
package struct Authority: Sendable, Hashable {
  /// Lower case; an IPv6 address in brackets.
  package var host: String
  /// `nil` where none is written.
  package var port: Int?

  /// Host and port; the port only where it is another than `defaultPort`.
  package func text(defaultPort: Int) -> String {
    if let port, port != defaultPort { "\(host):\(port)" } else { host }
  }

  /// Reads `host`, `host:port`, `[address]` or `[address]:port`.
  ///
  /// - Throws: code `invalid_url`, for the reasons given at ``RequestTarget``.
  package init(_ text: Substring) throws(TransportError) {
    guard !text.utf8.contains(UInt8(ascii: "@")) else {
      throw .invalidURL(
        "the URL has user information in it",
        hint: "remove what stands before @, and give credentials in an Authorization header field")
    }
    if text.utf8.first == UInt8(ascii: "[") {
      guard let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) else {
        throw .invalidURL("the IPv6 address in the URL has no closing bracket")
      }
      let address = text[text.utf8.index(after: text.startIndex)..<end]
      host = try Self.ipv6(address)
      port = try Self.port(text[text.utf8.index(after: end)...])
    } else {
      let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
      host = try Self.name(text[..<colon])
      port = try Self.port(text[colon...])
    }
  }

  /// `""`, `":"` or `":"` and digits.
  private static func port(_ text: Substring) throws(TransportError) -> Int? {
    guard let colon = text.utf8.first else { return nil }
    let digits = text[text.utf8.index(after: text.startIndex)...]
    if colon == UInt8(ascii: ":"), digits.isEmpty { return nil }
    guard colon == UInt8(ascii: ":"), digits.utf8.count <= 5, digits.utf8.allSatisfy(\.isDigit),
      let port = Int(digits), (1...65_535).contains(port)
    else { throw .invalidURL("the URL's port is not a number from 1 to 65535") }
    return port
  }

  private static func ipv6(_ address: Substring) throws(TransportError) -> String {
    let text = String(address)
    var bytes = in6_addr()
    guard !text.utf8.contains(UInt8(ascii: "%")) else {
      throw .invalidURL(
        "the IPv6 address in the URL has a zone", hint: "leave it out, and choose the interface in ConnectionOptions")
    }
    guard inet_pton(AF_INET6, text, &bytes) == 1 else { throw .invalidURL("the URL's host is no IPv6 address") }
    return "[" + text.lowercased() + "]"
  }

  private static func name(_ text: Substring) throws(TransportError) -> String {
    guard !text.isEmpty else { throw .invalidURL("the URL has no host", hint: "write https://HOST/PATH") }
    guard let bytes = text.percentDecodedBytes, let decoded = String(validating: bytes, as: UTF8.self) else {
      throw .invalidURL("the percent-encoding in the URL's host is not valid UTF-8")
    }
    // Twice the length a name may have in DNS: the form with xn-- is never more than that shorter.
    guard bytes.count <= 512 else { throw .invalidURL("the URL's host is longer than any host name") }
    let host = decoded.lowercased()
    for scalar in host.unicodeScalars where !isAllowed(scalar) {
      throw .invalidURL(
        "the URL's host has the character U+\(String(scalar.value, radix: 16, uppercase: true)), which no host name has",
        hint: scalar.isASCII ? nil : "write the host in its xn-- form")
    }
    guard !host.unicodeScalars.split(separator: ".").contains(where: { isMark($0.first) }) else {
      throw .invalidURL("a label of the URL's host begins with a combining mark")
    }
    guard !endsInNumber(host) || isIPv4(host) else {
      throw .invalidURL(
        "the URL's host ends in a number and is no IPv4 address",
        hint: "write four numbers from 0 to 255, without zeros in front")
    }
    return host
  }

  /// RFC 5891 §4.2.3.2.
  private static func isMark(_ scalar: Unicode.Scalar?) -> Bool {
    switch scalar?.properties.generalCategory {
    case .nonspacingMark, .spacingMark: true
    default: false
    }
  }

  private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return ByteSet.unreserved.contains(UInt8(scalar.value)) }
    // Letters that IDNA 2008 has in their own right although case folding changes them.
    if scalar == "ß" || scalar == "ς" { return true }
    guard !scalar.properties.changesWhenNFKCCaseFolded else { return false }
    switch scalar.properties.generalCategory {
    case .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark, .spacingMark, .decimalNumber: return true
    default: return false
    }
  }

  /// As the WHATWG URL standard decides that a host must be an IPv4 address.
  private static func endsInNumber(_ host: String) -> Bool {
    var labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if labels.count > 1, labels.last == "" { labels.removeLast() }
    guard let last = labels.last?.utf8, !last.isEmpty else { return false }
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
