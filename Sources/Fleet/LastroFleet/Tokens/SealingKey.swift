// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
public import Lastro
internal import LastroWire

/// A key that seals tokens and cached responses before they leave the process (AES-256-GCM).
///
/// All instances need the same key. Make one with `openssl rand -base64 32`, and keep it where the service keeps its
/// other secrets. It is never shown: printing a key shows a mask.
public struct SealingKey: Sendable, Hashable, CustomStringConvertible {
  static let length = 32
  private static let nonceLength = 12
  private static let tagLength = 16
  /// The first byte of sealed values, which names their form.
  private static let form: UInt8 = 1

  private let key: [UInt8]

  /// Creates a key from its 32 bytes in Base64.
  ///
  /// - Throws: `ConfigurationError` if the text is not 32 bytes in Base64. The message does not include it.
  public init(base64 text: Secret) throws(ConfigurationError) {
    var characters = Array(text.reveal().utf8)
    if characters.last == UInt8(ascii: "=") { characters.removeLast() }
    guard characters.count == 43, let key = Base64.decode(characters), key.count == Self.length else {
      throw ConfigurationError(
        "the sealing key is not 32 bytes in Base64", hint: "make one with: openssl rand -base64 32")
    }
    self.key = key
  }

  private init(_ key: [UInt8]) { self.key = key }

  /// Returns a key that follows from this one and a purpose, and that reveals neither this one nor others.
  ///
  /// - Throws: `ConfigurationError` if OpenSSL has no SHA-256 or no memory.
  func derived(for purpose: [UInt8]) throws(ConfigurationError) -> SealingKey {
    SealingKey(try digest(of: purpose))
  }

  /// Returns a digest of a message that only a holder of the key can compute (HMAC-SHA-256).
  ///
  /// - Throws: `ConfigurationError` if OpenSSL has no SHA-256 or no memory.
  func digest(of message: [UInt8]) throws(ConfigurationError) -> [UInt8] {
    try MessageDigest.hmacSHA256(of: message, key: key).bytes
  }

  /// The mask, never the key.
  public var description: String { Redaction.mask }

  /// Seals a message under a random nonce.
  ///
  /// - Throws: ``FleetStoreError`` if OpenSSL has no AES-256-GCM or no memory.
  func sealed(_ message: [UInt8]) throws(FleetStoreError) -> [UInt8] {
    guard let cipher = clastro_aead_new(CLASTRO_AES_256_GCM, key, true) else { throw .noCipher }
    defer { clastro_aead_free(cipher) }
    var generator = SystemRandomNumberGenerator()
    let nonce = (0..<Self.nonceLength).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
    var out = [UInt8](repeating: 0, count: message.count + Self.tagLength)
    guard clastro_aead_seal(cipher, nonce, message, message.count, &out) else { throw .noCipher }
    return [Self.form] + nonce + out
  }

  /// Returns the sealed message; `nil` if it was sealed with another key, or was changed.
  ///
  /// - Throws: ``FleetStoreError`` if OpenSSL has no AES-256-GCM or no memory.
  func opened(_ sealed: [UInt8]) throws(FleetStoreError) -> [UInt8]? {
    let head = 1 + Self.nonceLength
    guard sealed.first == Self.form, sealed.count >= head + Self.tagLength else { return nil }
    guard let cipher = clastro_aead_new(CLASTRO_AES_256_GCM, key, false) else { throw .noCipher }
    defer { clastro_aead_free(cipher) }
    let nonce = Array(sealed[1..<head])
    let box = Array(sealed[head...])
    // One byte more than the message, because the buffer of an empty array has no address.
    var message = [UInt8](repeating: 0, count: box.count - Self.tagLength + 1)
    guard clastro_aead_open(cipher, nonce, box, box.count, &message) == CLASTRO_OPENED else { return nil }
    message.removeLast()
    return message
  }
}

extension SealingKey: CustomReflectable {
  /// A mirror without the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension FleetStoreError {
  fileprivate static var noCipher: Self {
    Self(.unreadable, "OpenSSL has no AES-256-GCM or no memory", hint: "check the providers of OpenSSL")
  }
}
