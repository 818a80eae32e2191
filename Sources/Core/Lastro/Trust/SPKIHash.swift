// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
internal import FoundationEssentials

/// A pin: the SHA-256 hash of a certificate's DER SubjectPublicKeyInfo (RFC 7469 §2.4), for keys of any type.
///
/// The pin stays the same when a certificate is renewed with the same key. Two pins are equal if their 32 bytes are
/// equal.
public struct SPKIHash: Sendable, Hashable, LosslessStringConvertible {
  /// The length of a pin in bytes.
  package static let length = 32

  /// The 32 bytes.
  package let bytes: [UInt8]

  /// Wraps 32 bytes. Returns `nil` for any other number of bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.length else { return nil }
    self.bytes = bytes
  }

  /// Reads `sha256/` and Base64 (RFC 4648 §4, with padding), or the Base64 alone.
  ///
  /// Returns `nil` for anything else, such as another hash, 31 bytes, spaces, or the URL-safe alphabet.
  public init?(_ description: String) {
    let text = description.hasPrefix(Self.prefix) ? description.dropFirst(Self.prefix.count) : description[...]
    guard text.utf8.count == 44, let data = Data(base64Encoded: String(text)) else { return nil }
    self.init([UInt8](data))
  }

  /// Computes the pin of the first block in a PEM text: a certificate, a certificate request, or a public key. Thus a
  /// backup key can be pinned before it has a certificate. Keys of types that OpenSSL does not know are read too. Later
  /// blocks are ignored.
  ///
  /// - Throws: ``ConfigurationError`` if the first block is something else, such as a private key, or cannot be read,
  ///   if an earlier line looks like the malformed start of a block, or if there is no block, as in DER or in a pin.
  ///   The message says what was found, and the hint how to get the public key. Neither contains the text.
  public init(pem: String) throws(ConfigurationError) {
    var bytes = [UInt8](repeating: 0, count: Self.length)
    let text = pem.withoutIndentation
    guard clastro_pem_pin(text, text.count, &bytes) else { throw PEMFault.error(for: pem) }
    self.bytes = bytes
  }

  /// `sha256/` and Base64, the form used in configurations and in all messages.
  public var description: String { Self.prefix + base64 }

  /// The Base64 without the prefix.
  package var base64: String { Data(bytes).base64EncodedString() }

  private static let prefix = "sha256/"
}

extension SPKIHash: Codable {
  /// Reads the text form, as ``init(_:)`` does.
  ///
  /// - Throws: `DecodingError` for any other text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let hash = Self(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "\"\(text)\" is not a pin: write sha256/ and the Base64 of 32 bytes")
    }
    self = hash
  }

  /// Writes ``description``.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
