// SPDX-License-Identifier: Apache-2.0

extension String {
  /// A host as it stands before a port (RFC 3986 §3.2.2): an IPv6 address in brackets, all else as it is.
  package var bracketedHost: String { utf8.contains(UInt8(ascii: ":")) ? "[\(self)]" : self }

  /// A host without the brackets of an IPv6 address, where it has them.
  package var unbracketedHost: String { hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self }
}
