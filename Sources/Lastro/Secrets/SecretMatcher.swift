// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// Finds registered secrets in text by their value, in whatever notation they stand there: as they are, escaped as
/// `EscapeReader` reads it, mixed, in base64, or in the middle of what was encoded in base64.
struct SecretMatcher: Sendable, Hashable {
  /// Shorter secrets are not looked for: they are in too many texts by chance, and masking those would show where.
  static let leastBytes = 4
  /// So many bytes of a secret at the end of text that was cut off are masked as well.
  private static let leastCutBytes = 2
  /// What escapes begin with.
  private static let escapeLeads = ByteSet("%+\\&")
  private static let ellipsis = Array("…".utf8)

  /// What is looked for, and what was too short for that.
  private(set) var secrets: Set<Secret> = []
  private var patterns: [[UInt8]] = []
  /// For each byte the patterns that begin with it.
  private var patternsByFirst: [[Int]] = []

  init() {}

  init(_ secrets: Set<Secret>) { add(secrets) }

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.secrets == rhs.secrets }

  func hash(into hasher: inout Hasher) { hasher.combine(secrets) }

  /// Looks for these too.
  mutating func add(_ added: Set<Secret>) {
    guard !added.isSubset(of: secrets) else { return }
    var known = Set(patterns)
    for secret in added where secrets.insert(secret).inserted {
      for pattern in Self.patterns(of: secret) where known.insert(pattern).inserted { patterns.append(pattern) }
    }
    patternsByFirst = Array(repeating: [], count: 256)
    for (index, pattern) in patterns.enumerated() { patternsByFirst[Int(pattern[0])].append(index) }
  }

  /// The text with every secret in it masked.
  ///
  /// - Parameter isCut: whether the text goes on where it ends, so that half of a secret may stand there.
  func masking(_ text: String, isCut: Bool = false) -> String {
    guard !patterns.isEmpty else { return text }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var maskedEnd = 0
    for index in bytes.indices {
      // Also inside of what is masked already: secrets may overlap.
      if let end = longestMatch(in: bytes, at: index, isCut: isCut), end > maskedEnd {
        if index >= maskedEnd { result += Redaction.mask.utf8 }
        maskedEnd = end
      }
      if index >= maskedEnd { result.append(bytes[index]) }
    }
    return maskedEnd == 0 ? text : String(decoding: result, as: UTF8.self)
  }

  /// Where the longest pattern that begins at `start` ends.
  private func longestMatch(in text: [UInt8], at start: Int, isCut: Bool) -> Int? {
    var longest: Int?
    func look(for pattern: Int, from position: Position) {
      guard let end = Self.end(of: patterns[pattern], in: text, from: position, isCut: isCut) else { return }
      longest = max(longest ?? 0, end)
    }
    for pattern in patternsByFirst[Int(text[start])] { look(for: pattern, from: Position(pattern: 1, text: start + 1)) }
    guard Self.escapeLeads.contains(text[start]) else { return longest }
    for reading in EscapeReader.readings(text, at: start) {
      for pattern in patternsByFirst[Int(reading.bytes[0])] where patterns[pattern].starts(with: reading.bytes) {
        look(for: pattern, from: Position(pattern: reading.bytes.count, text: reading.end))
      }
    }
    return longest
  }

  /// Where the rest of a pattern ends, by any reading of the escapes in the text.
  private static func end(of pattern: [UInt8], in text: [UInt8], from start: Position, isCut: Bool) -> Int? {
    // Most end here, at the second byte.
    if start.text < text.count, start.pattern < pattern.count, text[start.text] != pattern[start.pattern],
      !Self.escapeLeads.contains(text[start.text]), text[start.text] != ellipsis[0]
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
        if Self.escapeLeads.contains(byte) {
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

  /// Where the text was cut, when that is after some of a pattern; be it in the middle of an escape.
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

extension SecretMatcher: CustomStringConvertible, CustomReflectable {
  var description: String { "\(secrets.count) secrets" }
  var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension SecretMatcher {
  private static func patterns(of secret: Secret) -> [[UInt8]] {
    let text = Array(secret.reveal().utf8)
    // Header fields lose the blanks around their values.
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let trimmed = Array(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    var patterns = [text] + (trimmed == text ? [] : [trimmed])
    for alignment in 0..<3 {
      let inner = base64(of: text, alignment: alignment)
      let isURLSafe = inner.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
      patterns.append(inner)
      if isURLSafe {
        patterns.append(inner.map { $0 == UInt8(ascii: "+") ? 0x2D : $0 == UInt8(ascii: "/") ? 0x5F : $0 })
      }
    }
    return text.count < leastBytes ? [] : patterns.filter { $0.count >= leastBytes }
  }

  /// The base64 characters that a text alone decides, when so many bytes, or three more or six, stand before it: those
  /// of `user:` in Basic credentials.
  private static func base64(of text: [UInt8], alignment: Int) -> [UInt8] {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var result: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    // Bits that share a character with what stands before.
    var skipped = alignment == 0 ? 0 : 6 - alignment * 8 % 6
    for byte in text {
      bits = bits << 8 | UInt32(byte)
      count += 8
      if skipped > 0 {
        count -= skipped
        skipped = 0
        bits &= 1 << UInt32(count) - 1
      }
      while count >= 6 {
        count -= 6
        result.append(alphabet[Int(bits >> UInt32(count) & 63)])
      }
      bits &= 1 << UInt32(count) - 1
    }
    return result
  }
}
