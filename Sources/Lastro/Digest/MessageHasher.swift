// SPDX-License-Identifier: Apache-2.0

internal import CLastroCrypto

#if canImport(FoundationEssentials)
  package import FoundationEssentials
#else
  package import Foundation
#endif

/// A hash function that is fed piece by piece, over OpenSSL's `EVP_Digest` calls. For one thread at a time.
package final class MessageHasher {
  /// The algorithm of the digest.
  package let algorithm: HashAlgorithm
  private let context: OpaquePointer
  private var isBroken = false

  /// Starts with no bytes.
  ///
  /// - Parameter algorithm: default SHA-256.
  /// - Throws: ``HashingError`` when OpenSSL has no such function, as under FIPS no MD5, or no memory.
  package convenience init(_ algorithm: HashAlgorithm = .sha256) throws(HashingError) {
    try self.init(algorithm, named: algorithm.nameInOpenSSL)
  }

  /// The same by the name that OpenSSL is asked for.
  init(_ algorithm: HashAlgorithm, named name: String) throws(HashingError) {
    guard let context = clastro_digest_new(name) else { throw HashingError(algorithm) }
    self.context = context
    self.algorithm = algorithm
  }

  deinit { clastro_digest_free(context) }

  /// Adds bytes.
  package func update(_ bytes: some ContiguousBytes) {
    let isTaken = bytes.withUnsafeBytes { clastro_digest_update(context, $0.baseAddress, $0.count) }
    if !isTaken { isBroken = true }
  }

  /// The digest of all bytes so far; more may follow.
  ///
  /// - Throws: ``HashingError`` when OpenSSL failed, now or at an earlier ``update(_:)``.
  package func digest() throws(HashingError) -> MessageDigest {
    guard !isBroken else { throw HashingError(algorithm) }
    let bytes = [UInt8](unsafeUninitializedCapacity: MessageDigest.maximumLength) { buffer, count in
      if let base = buffer.baseAddress { count = clastro_digest_value(context, base, buffer.count) }
    }
    guard !bytes.isEmpty else { throw HashingError(algorithm) }
    return MessageDigest(bytes)
  }
}
