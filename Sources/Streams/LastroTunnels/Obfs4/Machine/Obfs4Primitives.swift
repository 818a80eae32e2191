// SPDX-License-Identifier: Apache-2.0
private import CLastroPrimitives

/// The functions of libcrypto that obfs4 needs. Each throws ``Obfs4Failure/cryptoUnavailable`` if libcrypto refuses.
package enum Obfs4Primitives {
  package static func hmac(key: [UInt8], _ message: [UInt8]) throws(Obfs4Failure) -> [UInt8] {
    try bytes(32) { clastro_hmac("SHA256", key, key.count, message, message.count, $0, 32) == 32 }
  }

  package static func sha256(_ message: [UInt8]) throws(Obfs4Failure) -> [UInt8] {
    try bytes(32) { clastro_digest_of("SHA256", message, message.count, $0, 32) }
  }

  /// Compares bytes in constant time.
  package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && clastro_equal(one, other, one.count)
  }

  package static func publicKey(of secret: [UInt8]) throws(Obfs4Failure) -> [UInt8] {
    guard secret.count == 32 else { throw .cryptoUnavailable }
    return try bytes(32) { clastro_x25519_public(secret, $0) }
  }

  /// Returns the X25519 shared secret.
  ///
  /// - Throws: ``Obfs4Failure/zeroSharedSecret`` as well.
  package static func agreement(of secret: [UInt8], with point: [UInt8]) throws(Obfs4Failure) -> [UInt8] {
    guard secret.count == 32, point.count == 32 else { throw .cryptoUnavailable }
    var answer = CLASTRO_AGREEMENT_FAILED
    let shared = try bytes(32) {
      answer = clastro_x25519(secret, point, $0)
      return answer != CLASTRO_AGREEMENT_FAILED
    }
    guard answer == CLASTRO_AGREED else { throw .zeroSharedSecret }
    return shared
  }

  /// Returns the point that 32 bytes represent.
  package static func point(ofRepresentative representative: [UInt8]) throws(Obfs4Failure) -> [UInt8] {
    guard representative.count == 32 else { throw .cryptoUnavailable }
    return try bytes(32) { clastro_elligator2(representative, $0) }
  }

  /// Returns the representative of a point; nil if it has none.
  package static func representative(of point: [UInt8], tweak: UInt8) throws(Obfs4Failure) -> [UInt8]? {
    guard point.count == 32 else { throw .cryptoUnavailable }
    var answer = CLASTRO_INVERSION_FAILED
    let found = try bytes(32) {
      answer = clastro_elligator2_inverse(point, tweak, $0)
      return answer != CLASTRO_INVERSION_FAILED
    }
    return answer == CLASTRO_REPRESENTED ? found : nil
  }

  /// Returns the sum of the point and the point of low order with this index.
  package static func sum(of point: [UInt8], lowOrder index: UInt8) throws(Obfs4Failure) -> [UInt8] {
    guard point.count == 32 else { throw .cryptoUnavailable }
    return try bytes(32) { clastro_add_low_order(point, UInt32(index), $0) }
  }

  private static func bytes(
    _ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Bool
  ) throws(Obfs4Failure) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let works = bytes.withUnsafeMutableBufferPointer { buffer in buffer.baseAddress.map(fill) ?? false }
    guard works else { throw .cryptoUnavailable }
    return bytes
  }
}
