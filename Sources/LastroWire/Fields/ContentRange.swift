// SPDX-License-Identifier: Apache-2.0

/// Which bytes of how many a part or an answer has: `Content-Range` (RFC 9110 §14.4).
package struct ContentRange: Equatable, Sendable {
  package let first: Int64
  package let last: Int64
  /// `nil` where the server does not know.
  package let total: Int64?

  /// Reads `bytes 0-499/1234` or `bytes 0-499/*`; `nil` for anything else, and for a range that cannot be.
  package init?(_ text: String) {
    let words = text.split(separator: " ", maxSplits: 1)
    guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
    let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
    guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last else {
      return nil
    }
    self.first = first
    self.last = last
    if parts[1] == "*" {
      total = nil
    } else {
      guard let total = Self.number(parts[1]), last < total else { return nil }
      self.total = total
    }
  }

  private static func number(_ text: Substring) -> Int64? {
    text.utf8.allSatisfy { $0 &- 48 < 10 } ? Int64(text) : nil
  }
}
