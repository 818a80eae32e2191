// SPDX-License-Identifier: Apache-2.0

/// Names that no resolver is asked for.
package enum SpecialName: Sendable, Hashable {
  /// `localhost` and what is below it (RFC 6761 §6.3).
  case loopback
  /// `invalid` (RFC 6761 §6.4) and `onion` (RFC 7686), and what is below them: they have no address.
  case missing

  /// `nil` for all other names.
  ///
  /// - Parameter name: in lower case, without a final dot.
  package init?(_ name: String) {
    switch name.utf8.split(separator: UInt8(ascii: ".")).last.map({ String(Substring($0)) }) {
    case "localhost": self = .loopback
    case "invalid", "onion": self = .missing
    default: return nil
    }
  }

  package var addresses: [String] { self == .loopback ? ["::1", "127.0.0.1"] : [] }
}
