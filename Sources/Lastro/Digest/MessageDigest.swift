// SPDX-License-Identifier: Apache-2.0

internal import CLastroCrypto

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What SHA-256, or HMAC with it, makes of a message: for signers of requests.
public struct MessageDigest: Sendable, Hashable, CustomStringConvertible {
  /// The most bytes a hash function gives, and more.
  static let maximumLength = 64

  /// The bytes of the digest, as many as its algorithm gives.
  public let bytes: [UInt8]

  /// Wraps bytes that were computed elsewhere.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Two lower-case digits a byte.
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

  /// Base64 with padding (RFC 4648 §4).
  public var base64: String { Data(bytes).base64EncodedString() }

  /// As ``hexadecimal``.
  public var description: String { hexadecimal }

  /// Whether all bytes are equal; takes as long for the first that differs as for the last.
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.bytes.count == rhs.bytes.count && zip(lhs.bytes, rhs.bytes).reduce(0) { $0 | $1.0 ^ $1.1 } == 0
  }
}

extension MessageDigest {
  /// SHA-256 (FIPS 180-4) of a message that is in memory, over OpenSSL's `EVP_Digest` calls.
  ///
  /// - Throws: ``ConfigurationError`` when OpenSSL has no SHA-256 or no memory.
  public init(of message: some ContiguousBytes) throws(ConfigurationError) {
    do throws(HashingError) {
      try self.init(of: message, .sha256)
    } catch {
      throw error.error
    }
  }

  /// The digest of a message by any of the functions.
  package init(of message: some ContiguousBytes, _ algorithm: HashAlgorithm) throws(HashingError) {
    let hasher = try MessageHasher(algorithm)
    hasher.update(message)
    self = try hasher.digest()
  }

  /// HMAC-SHA-256 (RFC 2104, RFC 4231) of a message, over OpenSSL's `EVP_Q_mac`.
  ///
  /// - Parameters:
  ///   - message: in memory.
  ///   - key: bytes of any number. RFC 2104 §3 discourages fewer than 32.
  /// - Throws: ``ConfigurationError`` when OpenSSL has no SHA-256 or no memory.
  public static func hmacSHA256(
    of message: some ContiguousBytes, key: some ContiguousBytes
  ) throws(ConfigurationError) -> MessageDigest {
    let bytes = key.withUnsafeBytes { key in
      message.withUnsafeBytes { message in
        [UInt8](unsafeUninitializedCapacity: maximumLength) { buffer, count in
          guard let base = buffer.baseAddress else { return }
          count = clastro_hmac(
            HashAlgorithm.sha256.nameInOpenSSL, key.baseAddress, key.count, message.baseAddress, message.count, base,
            buffer.count)
        }
      }
    }
    guard !bytes.isEmpty else { throw HashingError(.sha256).error }
    return MessageDigest(bytes)
  }

  /// The same with the UTF-8 bytes of a secret as key.
  ///
  /// - Throws: ``ConfigurationError`` when OpenSSL has no SHA-256 or no memory.
  public static func hmacSHA256(
    of message: some ContiguousBytes, key: Secret
  ) throws(ConfigurationError) -> MessageDigest {
    try hmacSHA256(of: message, key: Array(key.reveal().utf8))
  }
}
