// SPDX-License-Identifier: Apache-2.0

/// The error of an API as text, such as an error page; see ``ErrorDecoding/text``.
public struct TextAPIError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body of the response.
  public var text: String

  /// The secrets that its description masks: the usual names, and those that the call declared as secret.
  var redaction = Redaction.standard

  /// Wraps a text.
  public init(text: String) { self.text = text }

  /// The beginning of the text, at most 200 bytes, with secrets masked.
  public var description: String { BodySnippet(text.utf8, limit: 200, redaction: redaction).text }

  /// Returns whether the texts are equal.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text == rhs.text }

  /// Hashes the text.
  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
