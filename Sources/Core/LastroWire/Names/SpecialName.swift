// SPDX-License-Identifier: Apache-2.0

/// A name that is never sent to a resolver.
package enum SpecialName: Sendable, Hashable {
  /// `localhost` and names below it (RFC 6761 §6.3).
  case loopback
  /// `invalid` (RFC 6761 §6.4), `onion` (RFC 7686), and names below them, which have no addresses.
  case missing

  /// Classifies a name; `nil` for all other names.
  ///
  /// - Parameter name: the name in lower case, without a final dot.
  package init?(_ name: String) {
    switch name.utf8.split(separator: UInt8(ascii: ".")).last.map({ String(Substring($0)) }) {
    case "localhost": self = .loopback
    case "invalid", "onion": self = .missing
    default: return nil
    }
  }

  package var addresses: [String] { self == .loopback ? ["::1", "127.0.0.1"] : [] }
}
