// SPDX-License-Identifier: Apache-2.0

/// What the list says of a name.
package struct PublicSuffixRule: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// It is a public suffix.
  package static let plain = Self(rawValue: 1)
  /// So is whatever has one more label.
  package static let wildcard = Self(rawValue: 2)
  /// It is not a public suffix, although a wildcard says so.
  package static let exception = Self(rawValue: 4)
}

/// Reads the format of publicsuffix.org: a rule a line, up to the first white space; `//` begins a comment.
///
/// Bytes, because lists are long, and nearly all rules are what they will be compared as.
package struct PublicSuffixParser {
  package private(set) var rules: [String: PublicSuffixRule] = [:]
  package private(set) var skipped: [String] = []
  package private(set) var count = 0

  /// The name as hosts have it; `nil` for what no host can be.
  private let canonical: (String) -> String?

  /// Reads all of it.
  ///
  /// - Parameter canonical: the form of a name that is compared; `nil` for what is no name.
  package init(_ bytes: UnsafeBufferPointer<UInt8>, canonical: @escaping (String) -> String?) {
    self.canonical = canonical
    // A rule and its line end take more than this; a guess too low costs time only.
    rules.reserveCapacity(bytes.count / 20)
    var start = 0
    while start < bytes.count {
      let end = Self.lineEnd(in: bytes, from: start)
      read(bytes, from: start, to: end)
      start = end + 1
    }
  }

  /// Indices, not slices: without optimization those are ten times slower.
  private mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int) {
    guard start < end, bytes[start] > 0x20, bytes[start] != UInt8(ascii: "/") else { return }
    var kind = PublicSuffixRule.plain
    var first = start
    if bytes[start] == UInt8(ascii: "!") {
      kind = .exception
      first += 1
    } else if end - start > 2, bytes[start] == UInt8(ascii: "*"), bytes[start + 1] == UInt8(ascii: ".") {
      kind = .wildcard
      first += 2
    }
    var last = first
    var isCanonical = true
    var previous = UInt8(ascii: ".")
    var isLetterFirst = false
    while last < end, bytes[last] > 0x20 {
      let byte = bytes[last]
      // Two hyphens may follow xn, and that has to be read.
      let isSeparator = byte == 0x2E || byte == 0x2D
      isCanonical = isCanonical && (isSeparator ? byte != previous : byte &- 97 < 26 || byte &- 48 < 10)
      if previous == 0x2E { isLetterFirst = byte &- 97 < 26 }
      previous = byte
      last += 1
    }
    let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[first..<last]), as: UTF8.self)
    // A last label that begins with a digit may be a number.
    let isKey = isCanonical && isLetterFirst && previous != 0x2E && last - first <= 63
    guard let key = isKey ? text : canonical(text) else {
      return skipped.append(String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<last]), as: UTF8.self))
    }
    rules[key, default: []].insert(kind)
    count += 1
  }

  private static func lineEnd(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var end = start
    while end < bytes.count, bytes[end] != 0x0A { end += 1 }
    return end
  }
}
