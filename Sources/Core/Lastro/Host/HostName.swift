// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// A host in canonical form: a name in lower case, with ASCII labels (A-labels, RFC 5890 §2.3.2.1) and without a final
/// dot; or an IP address.
///
/// Requests and policies use the same rules, so a pin applies to the host that is connected to. International names may
/// be written in Unicode. Characters that would first be mapped to others (full-width forms, ligatures, invisible
/// characters) are refused, and so are those that RFC 5892 and RFC 5893 do not allow.
///
/// ```swift
/// let host = try HostName("Bücher.example.")
/// print(host)    // xn--bcher-kva.example
/// ```
public struct HostName: Sendable, Hashable, CustomStringConvertible {
  /// The canonical text, in ASCII. IPv4 addresses are dotted decimal; IPv6 addresses are as in RFC 5952, without
  /// brackets. `::ffff:10.0.0.1` (RFC 4291 §2.5.5.2) becomes `10.0.0.1`, because it denotes the same host.
  public let text: String
  /// Whether the host is an IP address. An IP address is not a subdomain of any domain.
  public let isIPAddress: Bool

  /// Parses a name, an IPv4 address, or an IPv6 address with or without brackets.
  ///
  /// A label must have 1 to 63 bytes in ASCII, a name at most 253. A dot at the end is removed.
  ///
  /// - Throws: ``ConfigurationError`` for text that is not a host, such as a URL, a host with a port, or a pattern with
  ///   `*`.
  public init(_ text: String) throws(ConfigurationError) {
    do throws(HostProblem) {
      (self.text, isIPAddress) = try Self.read(text)
    } catch {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }

  /// Makes a name from the end of a parsed name.
  init(suffix: Substring) {
    text = String(suffix)
    isIPAddress = false
  }

  private static func read(_ text: String) throws(HostProblem) -> (String, Bool) {
    guard !text.isEmpty else { throw HostProblem("the host is empty", hint: "write a name, such as example.com") }
    if text.utf8.first == UInt8(ascii: "[") {
      guard let end = text.utf8.firstIndex(of: UInt8(ascii: "]")) else {
        throw HostProblem("the IPv6 address has no closing bracket", hint: "write it as [2001:db8::1]")
      }
      guard text.utf8.index(after: end) == text.endIndex else {
        throw HostProblem("the host has characters after the IPv6 address", hint: "write it without a port")
      }
      return (try address(text[text.utf8.index(after: text.startIndex)..<end]), true)
    }
    if text.utf8.contains(UInt8(ascii: ":")), !text.utf8.contains(UInt8(ascii: "/")) {
      guard text.utf8.lazy.filter({ $0 == UInt8(ascii: ":") }).count > 1 else {
        throw HostProblem("the host has a port", hint: "write only the part before the colon")
      }
      return (try address(text[...]), true)
    }
    var name = text
    if name.utf8.last == UInt8(ascii: "."), name.utf8.count > 1 { name.unicodeScalars.removeLast() }
    return try HostReader.name(name)
  }

  private static func address(_ text: Substring) throws(HostProblem) -> String {
    let canonical = try HostReader.ipv6(String(text))
    guard canonical.utf8.starts(with: mappedPrefix.utf8) else { return canonical }
    // Only mapped addresses are written with dots after that prefix; `::ffff:0:a00:1` is in another network.
    let rest = canonical.dropFirst(mappedPrefix.count)
    return rest.utf8.contains(UInt8(ascii: ".")) ? String(rest) : canonical
  }

  private static let mappedPrefix = "::ffff:"

  /// Returns whether this name is a subdomain of `domain`: `a.example.com` is one of `example.com` and `com`.
  ///
  /// Whole labels are compared. A name is not a subdomain of itself, and an IP address neither has nor is a subdomain.
  package func isSubdomain(of domain: HostName) -> Bool {
    !isIPAddress && !domain.isIPAddress && text.utf8.count > domain.text.utf8.count && text.hasSuffix(domain.text)
      && text.utf8.dropLast(domain.text.utf8.count).last == UInt8(ascii: ".")
  }

  /// The name without its first label; `nil` for an address, and for a name of one label.
  package var parent: HostName? {
    guard !isIPAddress, let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")) else { return nil }
    return HostName(suffix: text[text.utf8.index(after: dot)...])
  }

  /// The canonical text.
  public var description: String { text }
}

extension HostName: Codable {
  /// Decodes a string, as ``init(_:)`` does.
  ///
  /// - Throws: `DecodingError.dataCorrupted`, with message and hint.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    do throws(ConfigurationError) {
      try self.init(text)
    } catch {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: error.description)
    }
  }

  /// Encodes ``text``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}
