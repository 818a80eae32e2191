// SPDX-License-Identifier: Apache-2.0

/// The value of `Content-Range` in bytes (RFC 9110 §14.4).
package struct ContentRange: Hashable, Sendable {
  /// The range of bytes in the body; `nil` if the range cannot be satisfied (`*`).
  package let bytes: Range<Int64>?
  /// The length of the complete representation; `nil` if it is unknown (`*`).
  package let total: Int64?

  /// Parses a value; `nil` for any other form, and for an impossible range.
  package init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    if parts[1] == "*" {
      total = nil
    } else {
      guard let number = Self.number(parts[1]) else { return nil }
      total = number
    }
    if parts[0] == "*" {
      guard total != nil else { return nil }
      bytes = nil
      return
    }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
      last < .max, last < total ?? .max
    else { return nil }
    bytes = first..<(last + 1)
  }

  private static func number(_ text: Substring) -> Int64? {
    guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
