// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
public import FoundationEssentials

/// The digest of a message, such as its SHA-256 hash or HMAC, for signers of requests.
public struct MessageDigest: Sendable, Hashable, CustomStringConvertible {
  /// The maximum length of a digest in bytes.
  static let maximumLength = 64

  /// The bytes of the digest. Their number depends on the algorithm.
  public let bytes: [UInt8]

  /// Wraps a digest that was computed elsewhere.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The digest in hexadecimal, two lower-case digits per byte.
  public var hexadecimal: String {
    String(unsafeUninitializedCapacity: 2 * bytes.count) { buffer in
      var count = 0
      for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
          buffer.initializeElement(at: count, to: digit < 10 ? digit + 48 : digit + 87)
          count += 1
        }
      }
      return count
    }
  }

  /// The digest in Base64 with padding (RFC 4648 §4).
  public var base64: String { Data(bytes).base64EncodedString() }

  /// The same text as ``hexadecimal``.
  public var description: String { hexadecimal }

  /// Returns whether all bytes are equal, with OpenSSL's `CRYPTO_memcmp`, which takes the same time wherever the first
  /// difference is.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.bytes.count == rhs.bytes.count && clastro_equal(lhs.bytes, rhs.bytes, lhs.bytes.count)
  }
}

extension MessageDigest {
  /// Computes the SHA-256 hash (FIPS 180-4) of a message in memory, with OpenSSL's `EVP_Digest` functions.
  ///
  /// - Throws: ``ConfigurationError`` if OpenSSL has no SHA-256 or no memory.
  public init(of message: some ContiguousBytes) throws(ConfigurationError) {
    do throws(HashingError) {
      try self.init(of: message, .sha256)
    } catch {
      throw error.error
    }
  }

  /// Computes the digest of a message with any of the hash functions.
  package init(of message: some ContiguousBytes, _ algorithm: HashAlgorithm) throws(HashingError) {
    let hasher = try MessageHasher(algorithm)
    hasher.update(message)
    self = try hasher.digest()
  }

  /// Returns the HMAC-SHA-256 (RFC 2104, RFC 4231) of a message, computed with OpenSSL's `EVP_Q_mac`.
  ///
  /// - Parameters:
  ///   - message: the message, in memory.
  ///   - key: the key, of any length. RFC 2104 §3 discourages fewer than 32 bytes.
  /// - Throws: ``ConfigurationError`` if OpenSSL has no SHA-256 or no memory.
  public static func hmacSHA256(
    of message: some ContiguousBytes, key: some ContiguousBytes
  ) throws(ConfigurationError) -> MessageDigest {
    let bytes = key.withUnsafeBytes { key in
      message.withUnsafeBytes { message in
        [UInt8](unsafeUninitializedCapacity: maximumLength) { buffer, count in
          guard let base = buffer.baseAddress else { return }
          count = clastro_hmac(
            HashAlgorithm.sha256.rawValue, key.baseAddress, key.count, message.baseAddress, message.count, base,
            buffer.count)
        }
      }
    }
    guard !bytes.isEmpty else { throw HashingError(.sha256).error }
    return MessageDigest(bytes)
  }

  /// Returns the HMAC-SHA-256 of a message, with the UTF-8 bytes of a secret as the key.
  ///
  /// - Throws: ``ConfigurationError`` if OpenSSL has no SHA-256 or no memory.
  public static func hmacSHA256(
    of message: some ContiguousBytes, key: Secret
  ) throws(ConfigurationError) -> MessageDigest {
    try hmacSHA256(of: message, key: Array(key.reveal().utf8))
  }
}
