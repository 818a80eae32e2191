// SPDX-License-Identifier: Apache-2.0

/// Finds patterns in a text, including all escaped forms that `EscapeReader` can decode.
package struct PatternMatcher: Sendable {
  /// The minimum number of a pattern's bytes that count as a match at the end of a truncated text.
  private static let leastCutBytes = 2
  private static let ellipsis = Array("…".utf8)

  private var patterns: [[UInt8]] = []
  /// The indices of patterns by their first byte.
  private var patternsByFirst: [[Int]] = []

  package init() {}

  /// Adds patterns. None may be empty.
  package mutating func add(_ added: [[UInt8]]) {
    var known = Set(patterns)
    patterns += added.filter { known.insert($0).inserted }
    patternsByFirst = Array(repeating: [], count: 256)
    for (index, pattern) in patterns.enumerated() { patternsByFirst[Int(pattern[0])].append(index) }
  }

  /// Returns the text with every pattern replaced by `mask`.
  ///
  /// - Parameters:
  ///   - text: UTF-8.
  ///   - mask: the replacement, used once for overlapping patterns.
  ///   - isCut: whether the text was truncated, so that a part of a pattern may be at its end.
  ///   - filler: the byte that replaces each byte of a pattern instead of `mask`, so that the text keeps its length.
  ///     Default `nil`.
  package func masking(_ text: String, by mask: String, isCut: Bool, filler: UInt8? = nil) -> String {
    guard !patterns.isEmpty else { return text }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var maskedEnd = 0
    for index in bytes.indices {
      // Also search within masked text, because patterns may overlap.
      if let end = longestMatch(in: bytes, at: index, isCut: isCut), end > maskedEnd {
        if let filler {
          result += repeatElement(filler, count: end - max(index, maskedEnd))
        } else if index >= maskedEnd {
          result += mask.utf8
        }
        maskedEnd = end
      }
      if index >= maskedEnd { result.append(bytes[index]) }
    }
    return maskedEnd == 0 ? text : String(decoding: result, as: UTF8.self)
  }

  /// Returns whether escapes may begin with the byte.
  private static func leadsEscape(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "%"), UInt8(ascii: "+"), UInt8(ascii: "\\"), UInt8(ascii: "&"): true
    default: false
    }
  }

  /// Returns the end of the longest pattern that begins at `start`.
  private func longestMatch(in text: [UInt8], at start: Int, isCut: Bool) -> Int? {
    var longest: Int?
    func look(for pattern: Int, from position: Position) {
      guard let end = Self.end(of: patterns[pattern], in: text, from: position, isCut: isCut) else { return }
      longest = max(longest ?? 0, end)
    }
    for pattern in patternsByFirst[Int(text[start])] { look(for: pattern, from: Position(pattern: 1, text: start + 1)) }
    guard Self.leadsEscape(text[start]) else { return longest }
    for reading in EscapeReader.readings(text, at: start) {
      for pattern in patternsByFirst[Int(reading.bytes[0])] where patterns[pattern].starts(with: reading.bytes) {
        look(for: pattern, from: Position(pattern: reading.bytes.count, text: reading.end))
      }
    }
    return longest
  }

  /// Returns the end of the rest of a pattern, for any interpretation of the escapes in the text.
  private static func end(of pattern: [UInt8], in text: [UInt8], from start: Position, isCut: Bool) -> Int? {
    // Most searches end here, at the second byte.
    if start.text < text.count, start.pattern < pattern.count, text[start.text] != pattern[start.pattern],
      !Self.leadsEscape(text[start.text]), text[start.text] != ellipsis[0]
    {
      return nil
    }
    var pending = [start]
    var seen: Set<Position> = []
    while var position = pending.popLast() {
      while position.pattern < pattern.count {
        if let end = cutEnd(text, at: position, isCut: isCut) { return end }
        guard position.text < text.count else { break }
        let byte = text[position.text]
        if Self.leadsEscape(byte) {
          for reading in EscapeReader.readings(text, at: position.text)
          where pattern[position.pattern...].starts(with: reading.bytes) {
            let next = Position(pattern: position.pattern + reading.bytes.count, text: reading.end)
            if seen.insert(next).inserted { pending.append(next) }
          }
        }
        guard byte == pattern[position.pattern] else { break }
        position.pattern += 1
        position.text += 1
      }
      if position.pattern == pattern.count { return position.text }
    }
    return nil
  }

  private struct Position: Hashable {
    var pattern: Int
    var text: Int
  }

  /// Returns the end of the text if it was truncated after a part of a pattern, possibly within an escape.
  private static func cutEnd(_ text: [UInt8], at position: Position, isCut: Bool) -> Int? {
    guard position.pattern >= leastCutBytes else { return nil }
    let rest = text[position.text...]
    if rest.first == ellipsis[0], rest.starts(with: ellipsis) { return position.text }
    guard isCut else { return nil }
    if rest.isEmpty { return text.count }
    let isHalfEscape =
      rest.count < EscapeReader.longest && (rest.first == UInt8(ascii: "%") || rest.first == UInt8(ascii: "\\"))
      && EscapeReader.readings(text, at: position.text).isEmpty
    return isHalfEscape ? text.count : nil
  }
}

extension PatternMatcher {
  /// Returns the base64 characters that depend only on the text, if it is preceded by `alignment` bytes, or by three or
  /// six more, such as `user:` in Basic credentials.
  package static func base64(of text: [UInt8], alignment: Int) -> [UInt8] {
    let characters = Base64.encode([UInt8](repeating: 0, count: alignment) + text).utf8
    // Leave out the characters that share bits with the bytes before and after the text.
    return Array(characters.prefix((alignment + text.count) * 8 / 6).dropFirst((alignment * 8 + 5) / 6))
  }
}
