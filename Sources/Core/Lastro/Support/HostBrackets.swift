// SPDX-License-Identifier: Apache-2.0

extension String {
  /// The host in the form that precedes a port (RFC 3986 §3.2.2): an IPv6 address in brackets, any other host
  /// unchanged.
  package var bracketedHost: String { utf8.contains(UInt8(ascii: ":")) ? "[\(self)]" : self }

  /// The host without the brackets of an IPv6 address, if it has them.
  package var unbracketedHost: String { hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self }
}
