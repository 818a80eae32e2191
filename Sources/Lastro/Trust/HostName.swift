// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Darwin
#endif

/// A host in its one canonical form: a name in lower case, its labels in ASCII (A-labels, RFC 5890 §2.3.2.1), without a
/// final dot; or an IP address.
public struct HostName: Sendable, Hashable, CustomStringConvertible {
  /// The canonical text; IPv6 addresses without brackets.
  public let text: String
  /// Whether it is an IP address. Such a host is below no domain.
  public let isIPAddress: Bool

  /// Reads a name or an address.
  ///
  /// - Throws: `ConfigurationError` for what no host can be called.
  public init(_ text: String) throws(ConfigurationError) {
    var name = text.lowercased()
    if name.hasSuffix(".") { name.removeLast() }
    guard !name.isEmpty else {
      throw ConfigurationError("the host is empty", hint: "write a name, such as example.com")
    }
    var four = in_addr(), six = in6_addr()
    isIPAddress = inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1
    self.text = name
  }

  /// The canonical text.
  public var description: String { text }
}
