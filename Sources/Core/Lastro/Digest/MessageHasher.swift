// SPDX-License-Identifier: Apache-2.0

internal import CLastroPrimitives
package import FoundationEssentials

/// An incremental hash function, computed with OpenSSL's `EVP_Digest` functions. It must not be used by several threads
/// at the same time.
package final class MessageHasher {
  /// The algorithm of the digest.
  package let algorithm: HashAlgorithm
  private let context: OpaquePointer
  private var isBroken = false

  /// Creates a hasher that has received no bytes.
  ///
  /// - Parameter algorithm: the hash function. Default SHA-256.
  /// - Throws: ``HashingError`` if OpenSSL does not have the function (MD5 under FIPS, for example), or has no memory.
  package convenience init(_ algorithm: HashAlgorithm = .sha256) throws(HashingError) {
    try self.init(algorithm, named: algorithm.rawValue)
  }

  /// Creates a hasher with the given OpenSSL name for the function.
  init(_ algorithm: HashAlgorithm, named name: String) throws(HashingError) {
    guard let context = clastro_digest_new(name) else { throw HashingError(algorithm) }
    self.context = context
    self.algorithm = algorithm
  }

  deinit { clastro_digest_free(context) }

  /// Adds bytes to the message.
  package func update(_ bytes: some ContiguousBytes) {
    let isTaken = bytes.withUnsafeBytes { clastro_digest_update(context, $0.baseAddress, $0.count) }
    if !isTaken { isBroken = true }
  }

  /// Returns the digest of all bytes so far. More bytes may be added afterwards.
  ///
  /// - Throws: ``HashingError`` if OpenSSL failed, now or in an earlier ``update(_:)``.
  package func digest() throws(HashingError) -> MessageDigest {
    guard !isBroken else { throw HashingError(algorithm) }
    let bytes = [UInt8](unsafeUninitializedCapacity: MessageDigest.maximumLength) { buffer, count in
      if let base = buffer.baseAddress { count = clastro_digest_value(context, base, buffer.count) }
    }
    guard !bytes.isEmpty else { throw HashingError(algorithm) }
    return MessageDigest(bytes)
  }
}
