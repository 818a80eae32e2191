// SPDX-License-Identifier: Apache-2.0

/// The rules of the list that apply to a name.
package struct PublicSuffixRule: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The name is a public suffix.
  package static let plain = Self(rawValue: 1)
  /// Every name with one more label is a public suffix.
  package static let wildcard = Self(rawValue: 2)
  /// The name is not a public suffix, although a wildcard matches it.
  package static let exception = Self(rawValue: 4)
}

/// Parses the format of publicsuffix.org: one rule per line, up to the first white space; `//` begins a comment.
///
/// It works on bytes because lists are long, and because nearly all rules are already in their canonical form.
package struct PublicSuffixParser {
  package private(set) var rules: [String: PublicSuffixRule] = [:]
  package private(set) var skipped: [String] = []
  package private(set) var count = 0

  /// Returns a name's canonical form as a host; `nil` if it cannot be a host.
  private let canonical: (String) -> String?

  /// Parses a whole list.
  ///
  /// - Parameter canonical: returns the form of a name that is compared; `nil` if it is not a name.
  package init(_ bytes: UnsafeBufferPointer<UInt8>, canonical: @escaping (String) -> String?) {
    self.canonical = canonical
    // An estimate of the number of rules. A low guess costs only time.
    rules.reserveCapacity(bytes.count / 20)
    var start = 0
    while start < bytes.count {
      let end = Self.lineEnd(in: bytes, from: start)
      read(bytes, from: start, to: end)
      start = end + 1
    }
  }

  /// Parses a line. It uses indices because slices are ten times slower without optimization.
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
      // `xn` followed by two hyphens has to be decoded by `canonical`.
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
