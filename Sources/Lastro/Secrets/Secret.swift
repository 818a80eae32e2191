// SPDX-License-Identifier: Apache-2.0

/// A text that must not be shown by accident: a token, a password, a key.
///
/// Printing, interpolating, dumping and reflecting it give ``Redaction/mask``. ``reveal()`` is the one way to its text,
/// so that a search for the word finds every place that reads one. The secrets that a
/// request carries are named by its options (``RequestOptions/secrets``) and its body (``RequestBody/secrets``); all
/// texts about the request mask them by value.
///
/// Two secrets are equal when their UTF-8 is.
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

  /// Whether both are the same bytes. Strings are equal in more cases, and then only one of the two would be masked.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8.max)
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// ``Redaction/mask``, never the text.
  public var description: String { Redaction.mask }
  /// ``Redaction/mask``, never the text.
  public var debugDescription: String { Redaction.mask }
  /// Without children, so that `dump` and debuggers do not show the text.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
