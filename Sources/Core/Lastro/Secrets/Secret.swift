// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
internal import LastroSupport

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

  /// Returns whether both secrets have the same bytes. `String` compares by canonical equivalence: a set of secrets
  /// would then keep only one of two spellings, and the other would not be masked.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.text.utf8.elementsEqual(rhs.text.utf8) }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    for byte in text.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8.max)
  }
}

extension Secret: CustomStringConvertible, MaskedMirror {
  /// The mask ``Redaction/mask``, never the text.
  public var description: String { Redaction.mask }
}

extension Secret: Decodable {
  /// Decodes a string.
  ///
  /// - Throws: the error of the decoder if there is no string. The error does not include a value.
  public init(from decoder: any Decoder) throws { self.init(try decoder.singleValueContainer().decode(String.self)) }
}

extension Secret: Encodable {
  /// The key in an encoder's `userInfo` that controls how secrets are encoded. With the value `true`, secrets are
  /// encoded as plain text. `JSONEncoder` has the property `revealsSecrets` for it.
  package static let revealingKey = CodingUserInfoKey(rawValue: "Lastro.revealsSecrets")

  /// Encodes ``Redaction/mask``, so that a model that is logged or stored as JSON reveals nothing.
  ///
  /// `RequestBody.json(_:encoder:)` encodes the plain text, because it must send it. Encoders whose `revealsSecrets` is
  /// true do so too.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let collector = SecretCollector.current {
      collector.add(self)
      try container.encode(reveal())
    } else {
      let isRevealed = Self.revealingKey.flatMap { encoder.userInfo[$0] as? Bool } ?? false
      try container.encode(isRevealed ? reveal() : Redaction.mask)
    }
  }
}

extension JSONEncoder {
  /// Whether secrets are encoded as plain text. Default `false`: they are encoded as ``Redaction/mask``.
  public var revealsSecrets: Bool {
    get { Secret.revealingKey.flatMap { userInfo[$0] as? Bool } ?? false }
    set {
      if let key = Secret.revealingKey { userInfo[key] = newValue }
    }
  }
}

/// Collects the secrets that are encoded into a body. The encoder's `userInfo` is not used for this, because an encoder
/// may be shared.
final class SecretCollector: Sendable {
  @TaskLocal static var current: SecretCollector?

  private struct State {
    var inOrder: [Secret] = []
    var known: Set<Secret> = []
  }

  private let collected = Lock(State())

  func add(_ secret: Secret) {
    collected.withLock { if $0.known.insert(secret).inserted { $0.inOrder.append(secret) } }
  }

  var secrets: [Secret] { collected.withLock { $0.inOrder } }
}
