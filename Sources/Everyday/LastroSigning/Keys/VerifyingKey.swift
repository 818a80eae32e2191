// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A public key, or a shared secret, that verifies signatures. A secret is never shown.
public struct VerifyingKey: Sendable, CustomStringConvertible, MaskedMirror {
  /// The algorithm of the signatures. A signature that names another one is refused.
  public let algorithm: SignatureAlgorithm
  private let material: SigningKey.Material

  /// Reads a public key from the block `PUBLIC KEY` of a PEM text of at most 64 KiB.
  ///
  /// - Parameters:
  ///   - pem: the PEM text with a key of Ed25519, P-256, or RSA with 2048 to 8192 bits.
  ///   - algorithm: the algorithm, which must suit the key. Default: that of the key; for RSA,
  ///     ``SignatureAlgorithm/rsaPSS512``.
  /// - Throws: `ConfigurationError` if the text has no such key, or the algorithm does not suit it.
  public init(pem: String, algorithm: SignatureAlgorithm? = nil) throws(ConfigurationError) {
    let handle = try KeyHandle(pem: pem, isPrivate: false)
    self.algorithm = try handle.algorithm(algorithm)
    material = .pair(handle)
  }

  /// Makes a key of a shared secret for HMAC-SHA-256.
  ///
  /// - Parameter secret: at least 16 bytes.
  /// - Throws: `ConfigurationError` if the secret is shorter.
  public init(secret: [UInt8]) throws(ConfigurationError) {
    let key = try SigningKey(secret: secret)
    algorithm = key.algorithm
    material = key.material
  }

  /// Makes a key of the 32 bytes of an Ed25519 key; `nil` for other bytes.
  init?(ed25519 bytes: [UInt8]) {
    guard let handle = KeyHandle(ed25519: bytes) else { return nil }
    algorithm = .ed25519
    material = .pair(handle)
  }

  /// The name of the algorithm.
  public var description: String { algorithm.tokenName }

  /// Returns whether one of several signatures is that of a message. An HMAC is computed once for all of them.
  ///
  /// - Throws: `ConfigurationError` if OpenSSL cannot check it.
  func isAnySignature(of signatures: [[UInt8]], _ message: [UInt8]) throws(ConfigurationError) -> Bool {
    var isAny = false
    switch material {
    case .pair:
      for signature in signatures where try isSignature(signature, of: message) { isAny = true }
    case .secret(let secret):
      guard !signatures.isEmpty else { return false }
      let own = try MessageDigest.hmacSHA256(of: message, key: secret)
      for signature in signatures where own == MessageDigest(signature) { isAny = true }
    }
    return isAny
  }

  /// Returns whether a signature is that of a message. Digests are compared in constant time.
  ///
  /// - Throws: `ConfigurationError` if OpenSSL cannot check it.
  func isSignature(_ signature: [UInt8], of message: [UInt8]) throws(ConfigurationError) -> Bool {
    switch material {
    case .pair(let handle): try handle.isSignature(signature, of: message, algorithm)
    case .secret(let secret):
      try MessageDigest.hmacSHA256(of: message, key: secret) == MessageDigest(signature)
    }
  }
}
