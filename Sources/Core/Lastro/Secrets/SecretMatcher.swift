// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// Finds registered secrets in text by their value, in any notation: unchanged, escaped in the ways that `EscapeReader`
/// supports, in a mixture of these, in base64, or within text that was encoded in base64.
struct SecretMatcher: Sendable, Hashable {
  /// The minimum length of the secrets to search for. Shorter secrets occur in many texts by chance, and masking them
  /// would reveal their places.
  static let leastBytes = 4

  /// All registered secrets, including those that are too short to search for.
  private(set) var secrets: Set<Secret> = []
  private var matcher = PatternMatcher()

  init() {}

  init(_ secrets: Set<Secret>) { add(secrets) }

  static func == (lhs: Self, rhs: Self) -> Bool { lhs.secrets == rhs.secrets }

  func hash(into hasher: inout Hasher) { hasher.combine(secrets) }

  /// Adds secrets to search for.
  mutating func add(_ added: Set<Secret>) {
    guard !added.isSubset(of: secrets) else { return }
    matcher.add(added.subtracting(secrets).flatMap(Self.patterns))
    secrets.formUnion(added)
  }

  /// Returns a text with all secrets masked.
  ///
  /// - Parameters:
  ///   - isCut: whether the text is truncated at its end, so that it may end with a part of a secret.
  ///   - filler: the byte that replaces each byte of a secret instead of the mask. Default `nil`.
  func masking(_ text: String, isCut: Bool = false, filler: UInt8? = nil) -> String {
    matcher.masking(text, by: Redaction.mask, isCut: isCut, filler: filler)
  }
}

extension SecretMatcher: CustomStringConvertible, MaskedMirror {
  var description: String { "\(secrets.count) secrets" }
}

extension SecretMatcher {
  private static func patterns(of secret: Secret) -> [[UInt8]] {
    let text = Array(secret.reveal().utf8)
    // Header fields lose the blanks around their values.
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let trimmed = Array(text.drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    var patterns = [text] + (trimmed == text ? [] : [trimmed])
    for alignment in 0..<3 {
      let inner = PatternMatcher.base64(of: text, alignment: alignment)
      let isURLSafe = inner.contains { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }
      patterns.append(inner)
      if isURLSafe {
        patterns.append(inner.map { $0 == UInt8(ascii: "+") ? 0x2D : $0 == UInt8(ascii: "/") ? 0x5F : $0 })
      }
    }
    return text.count < leastBytes ? [] : patterns.filter { $0.count >= leastBytes }
  }
}
