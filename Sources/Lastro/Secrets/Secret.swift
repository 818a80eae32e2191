// SPDX-License-Identifier: Apache-2.0

/// A text that nobody may see by accident: a token, a password, a key.
///
/// Printing, interpolating, dumping and reflecting it give ``Redaction/mask``. ``reveal()`` is the one way to its text, so
/// that a search for the word finds every place that reads one.
public struct Secret: Sendable, Hashable, ExpressibleByStringLiteral {
  private let text: String

  /// Wraps a text.
  public init(_ text: String) { self.text = text }

  /// Wraps a literal; for tests and examples. Real secrets do not stand in sources.
  public init(stringLiteral text: String) { self.text = text }

  /// The text itself.
  public func reveal() -> String { text }

  /// Whether there is no text.
  public var isEmpty: Bool { text.isEmpty }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// ``Redaction/mask``.
  public var description: String { Redaction.mask }
  /// ``Redaction/mask``.
  public var debugDescription: String { Redaction.mask }
  /// No children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
