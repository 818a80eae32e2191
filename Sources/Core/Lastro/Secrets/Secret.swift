// SPDX-License-Identifier: Apache-2.0

/// A text that must not be shown by accident, such as a token, a password or a key.
///
/// Printing, interpolating, dumping and reflecting a secret show ``Redaction/mask``. The text is available only from
/// ``reveal()``, so a search for that name finds every use of the text. The options of a request
/// (``RequestOptions/secrets``) and its body (``RequestBody/secrets``) name the secrets in the request. All texts about
/// the request mask them by value.
///
/// Two secrets are equal if their UTF-8 bytes are equal.
public struct Secret: Sendable, Hashable, ExpressibleByStringLiteral {
  private let text: String

  /// Wraps a text.
  public init(_ text: String) { self.text = text }

  /// Wraps a literal, for tests and examples. Do not write real secrets in source code.
  public init(stringLiteral text: String) { self.text = text }

  /// Returns the text.
  public func reveal() -> String { text }

  /// Whether the text is empty.
  public var isEmpty: Bool { text.isEmpty }

  /// Returns whether both secrets have the same bytes. Strings with different bytes can be equal as well; if secrets
  /// were compared like that, only one of the two would be masked.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8.max)
  }
}

extension Secret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The mask ``Redaction/mask``, never the text.
  public var description: String { Redaction.mask }
  /// The mask ``Redaction/mask``, never the text.
  public var debugDescription: String { Redaction.mask }
  /// A mirror without children, so that `dump` and debuggers do not show the text.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
