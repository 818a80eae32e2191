// SPDX-License-Identifier: Apache-2.0

internal import CLastroSigning
public import Lastro

/// A private key, or a shared secret, that signs. It is never shown: printing a key shows a mask.
///
/// ```swift
/// let key = try SigningKey(pem: Secret(environment["SIGNING_KEY"] ?? ""))
/// ```
public struct SigningKey: Sendable, CustomStringConvertible, MaskedMirror {
  enum Material: Sendable {
    case pair(KeyHandle)
    case secret([UInt8])
  }

  /// The algorithm that the key signs with.
  public let algorithm: SignatureAlgorithm
  let material: Material

  /// Reads a private key: PKCS #8, or the older forms of RSA and EC, unencrypted, at most 64 KiB.
  ///
  /// - Parameters:
  ///   - pem: the PEM text with a key of Ed25519, P-256, or RSA with 2048 to 8192 bits.
  ///   - algorithm: the algorithm, which must suit the key. Default: that of the key; for RSA,
  ///     ``SignatureAlgorithm/rsaPSS512``.
  /// - Throws: `ConfigurationError` if the text has no such key, or the algorithm does not suit it. The message does
  ///   not include the text.
  public init(pem: Secret, algorithm: SignatureAlgorithm? = nil) throws(ConfigurationError) {
    let handle = try KeyHandle(pem: pem.reveal(), isPrivate: true)
    let algorithm = try handle.algorithm(algorithm)
    // An RSA key may be restricted to some algorithms, which only a signature shows.
    guard handle.kind != CLASTRO_KEY_RSA || (try? handle.signature(of: [], algorithm)) != nil else {
      throw ConfigurationError(
        "the RSA key cannot sign with \(algorithm.tokenName), because it is restricted to another algorithm",
        hint: "leave the algorithm out, or give a key without restrictions")
    }
    self.algorithm = algorithm
    material = .pair(handle)
  }

  /// Makes a key of a shared secret for HMAC-SHA-256.
  ///
  /// - Parameter secret: at least 16 bytes; RFC 2104 §3 recommends 32.
  /// - Throws: `ConfigurationError` if the secret is shorter.
  public init(secret: [UInt8]) throws(ConfigurationError) {
    guard secret.count >= Self.minimumSecret else {
      throw ConfigurationError(
        "the shared secret has \(secret.count) bytes, below the minimum of \(Self.minimumSecret)",
        hint: "make one with: openssl rand -base64 32")
    }
    algorithm = .hmacSHA256
    material = .secret(secret)
  }

  static let minimumSecret = 16

  private init(_ handle: KeyHandle, _ algorithm: SignatureAlgorithm) {
    self.algorithm = algorithm
    material = .pair(handle)
  }

  /// Returns a new random P-256 key, such as a program needs for DPoP. It exists only in memory.
  ///
  /// - Throws: `ConfigurationError` if OpenSSL has no such keys or no memory.
  public static func random() throws(ConfigurationError) -> SigningKey {
    SigningKey(try KeyHandle(randomP256: ()), .ecdsaP256)
  }

  /// The mask, never the key.
  public var description: String { Redaction.mask }

  /// Returns the signature of a message.
  ///
  /// - Throws: `ConfigurationError` if OpenSSL does not have the algorithm, or has no memory.
  func signature(of message: [UInt8]) throws(ConfigurationError) -> [UInt8] {
    switch material {
    case .pair(let handle): try handle.signature(of: message, algorithm)
    case .secret(let secret): try MessageDigest.hmacSHA256(of: message, key: secret).bytes
    }
  }
}

extension KeyHandle {
  /// Returns the wanted algorithm, or the usual one of the key.
  ///
  /// - Throws: `ConfigurationError` if the wanted algorithm does not suit the key.
  func algorithm(_ wanted: SignatureAlgorithm?) throws(ConfigurationError) -> SignatureAlgorithm {
    guard let wanted else {
      switch kind {
      case CLASTRO_KEY_ED25519: return .ed25519
      case CLASTRO_KEY_P256: return .ecdsaP256
      default: return .rsaPSS512
      }
    }
    guard wanted.kind == kind else {
      throw ConfigurationError(
        "the key does not suit the algorithm \(wanted.tokenName)",
        hint: "leave the algorithm out, or give a key of its kind")
    }
    return wanted
  }
}
