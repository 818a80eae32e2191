// SPDX-License-Identifier: Apache-2.0

/// The error of an API as text, such as an error page; see ``ErrorDecoding/text``.
public struct TextAPIError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body of the answer.
  public var text: String

  /// What its description masks: the usual names, and what the call named as secret.
  var redaction = Redaction.standard

  /// Wraps a text.
  public init(text: String) { self.text = text }

  /// The beginning of the text, bounded and masked.
  public var description: String { BodySnippet(text.utf8, limit: 200, redaction: redaction).text }

  /// Whether the texts are equal.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }

  /// Hashes the text.
  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
