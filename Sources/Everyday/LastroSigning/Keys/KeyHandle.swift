// SPDX-License-Identifier: Apache-2.0

internal import CLastroSigning
internal import Lastro

/// A key of libcrypto. It is never changed.
final class KeyHandle: Sendable {
  /// The maximum length of a PEM text in bytes. A key of 8192 bits needs about 6 KiB.
  private static let maximumPEM = 64 * 1024
  /// The longest signature that a key makes: that of RSA with 8192 bits.
  private static let maximumSignature = 1024

  // Because libcrypto only reads the key, several threads may use it.
  private nonisolated(unsafe) let key: OpaquePointer
  let kind: clastro_key_kind

  private init(_ key: OpaquePointer) {
    self.key = key
    kind = clastro_key_get_kind(key)
  }

  deinit { clastro_key_free(key) }

  /// Reads a key from a PEM text.
  ///
  /// - Throws: `ConfigurationError` if the text has no such key, or the key's kind or size is not supported.
  convenience init(pem: String, isPrivate: Bool) throws(ConfigurationError) {
    let name = isPrivate ? "private key" : "public key"
    guard pem.utf8.count <= Self.maximumPEM else {
      throw ConfigurationError(
        "the PEM text of the \(name) has \(pem.utf8.count) bytes, above the limit of \(Self.maximumPEM)",
        hint: "give the key alone")
    }
    var text = pem
    let found = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        characters.baseAddress.flatMap {
          isPrivate
            ? clastro_key_read_private($0, characters.count) : clastro_key_read_public($0, characters.count)
        }
      }
    }
    guard let found else {
      throw ConfigurationError(
        "the PEM text has no readable \(name)",
        hint: isPrivate
          ? "give an unencrypted key, from its BEGIN line to its END line; openssl pkey -in FILE removes a password"
          : "give the block PUBLIC KEY that openssl pkey -in FILE -pubout prints")
    }
    self.init(found)
    guard kind != CLASTRO_KEY_OTHER else {
      throw ConfigurationError("the \(name) is of a kind that is not supported", hint: "use Ed25519, P-256 or RSA")
    }
    guard kind != CLASTRO_KEY_RSA || (2048...8192).contains(clastro_key_bits(key)) else {
      throw ConfigurationError(
        "the RSA key has \(clastro_key_bits(key)) bits, outside the range 2048…8192",
        hint: "make a key of 3072 bits: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072")
    }
  }

  /// Makes a public Ed25519 key of its 32 bytes; `nil` if libcrypto refuses them.
  convenience init?(ed25519 bytes: [UInt8]) {
    guard bytes.count == 32, let key = clastro_key_ed25519_public(bytes) else { return nil }
    self.init(key)
  }

  /// Makes a random P-256 key.
  ///
  /// - Throws: `ConfigurationError` if libcrypto has no such keys or no memory.
  convenience init(randomP256: Void) throws(ConfigurationError) {
    guard let key = clastro_key_generate_p256() else { throw Self.unavailable("a P-256 key") }
    self.init(key)
  }

  /// Returns the signature of a message.
  ///
  /// - Throws: `ConfigurationError` if libcrypto does not have the algorithm, or has no memory.
  func signature(of message: [UInt8], _ algorithm: SignatureAlgorithm) throws(ConfigurationError) -> [UInt8] {
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.maximumSignature) { buffer, count in
      guard let out = buffer.baseAddress else { return }
      count = clastro_key_sign(
        key, algorithm.digest, algorithm.padding, message, message.count, out, buffer.count)
    }
    guard !bytes.isEmpty else { throw Self.unavailable("a signature with \(algorithm.tokenName)") }
    return bytes
  }

  /// Returns whether a signature is that of a message.
  ///
  /// - Throws: `ConfigurationError` if libcrypto or the key does not allow the algorithm, or there is no memory.
  func isSignature(
    _ signature: [UInt8], of message: [UInt8], _ algorithm: SignatureAlgorithm
  ) throws(ConfigurationError) -> Bool {
    guard !signature.isEmpty, signature.count <= Self.maximumSignature else { return false }
    let verdict = clastro_key_verify(
      key, algorithm.digest, algorithm.padding, message, message.count, signature, signature.count)
    guard verdict != CLASTRO_SIGNATURE_UNCHECKED else {
      throw Self.unavailable("the check of a signature with \(algorithm.tokenName)")
    }
    return verdict == CLASTRO_SIGNATURE_VALID
  }

  /// Returns a component of the public key, by its name in JSON Web Keys; empty on failure.
  func component(_ name: Character) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Self.maximumSignature) { buffer, count in
      guard let out = buffer.baseAddress, let name = name.asciiValue else { return }
      count = clastro_key_component(key, CChar(name), out, buffer.count)
    }
  }

  private static func unavailable(_ thing: String) -> ConfigurationError {
    ConfigurationError(
      "OpenSSL cannot make \(thing)", hint: "its providers lack it, or memory ran out: look at openssl.cnf")
  }
}
