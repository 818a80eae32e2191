// SPDX-License-Identifier: Apache-2.0

/// The error of an API as text, such as an error page; see ``ErrorDecoding/text``.
public struct TextAPIError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The body of the answer.
  public var text: String

  /// Wraps a text.
  public init(text: String) { self.text = text }

  /// The beginning of the text, bounded and masked.
  public var description: String { BodySnippet(text.utf8, limit: 200).text }
}
