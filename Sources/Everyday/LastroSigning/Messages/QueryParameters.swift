// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// The items of a query as forms have them (RFC 9421 §2.2.8).
enum QueryParameters {
  /// Returns a text in the percent-encoding of forms, with `%20` for a space.
  static func respelled(_ text: String) -> String { text.percentEncoded(keeping: .form) }

  /// Returns the values of the items whose name is spelled like the given one.
  static func values(of name: String, in query: Substring) -> [String] {
    query.split(separator: "&").compactMap { item in
      let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard respelled(decoded(parts[0])) == name else { return nil }
      return parts.count > 1 ? respelled(decoded(parts[1])) : ""
    }
  }

  /// Returns a name or value without percent-encoding and with spaces for `+`. A stray `%` stays.
  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimalValue,
        let low = rest.dropFirst().first?.hexadecimalValue
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
