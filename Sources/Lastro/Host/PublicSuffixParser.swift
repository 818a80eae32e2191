// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
  internal import Glibc
#else
  internal import Darwin
#endif

/// What the list says of a name.
struct PublicSuffixRule: OptionSet {
  let rawValue: UInt8

  /// It is a public suffix.
  static let plain = Self(rawValue: 1)
  /// So is whatever has one more label.
  static let wildcard = Self(rawValue: 2)
  /// It is not a public suffix, although a wildcard says so.
  static let exception = Self(rawValue: 4)
}

/// Reads the format of publicsuffix.org: a rule a line, up to the first white space; `//` begins a comment.
///
/// Bytes, because lists are long, and nearly all rules are what they will be compared as.
struct PublicSuffixParser {
  private(set) var rules: [String: PublicSuffixRule] = [:]
  private(set) var skipped: [String] = []
  private(set) var count = 0

  init(_ bytes: UnsafeBufferPointer<UInt8>) {
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
    guard let key = isKey ? text : Self.canonical(text) else {
      return skipped.append(String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<last]), as: UTF8.self))
    }
    rules[key, default: []].insert(kind)
    count += 1
  }

  /// The name as hosts have it; `nil` for what no host can be.
  private static func canonical(_ text: String) -> String? {
    guard let host = try? HostName(text), !host.isIPAddress else { return nil }
    return host.text
  }

  private static func lineEnd(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard let base = bytes.baseAddress, let found = memchr(base + start, 0x0A, bytes.count - start) else {
      return bytes.count
    }
    return UnsafeRawPointer(base).distance(to: found)
  }
}
