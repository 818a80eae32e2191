// SPDX-License-Identifier: Apache-2.0
private import CLastroPrimitives

/// HKDF (RFC 5869).
package enum KeyDerivation {
  /// A hash function, by OpenSSL's name.
  package enum Hash: String {
    case sha1 = "SHA1"
    case sha256 = "SHA256"
  }

  /// Returns `length` bytes derived from `key`; nil if libcrypto refuses, for example because its settings forbid the
  /// digest.
  package static func bytes(_ length: Int, hash: Hash, key: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8]? {
    var works = false
    let bytes = [UInt8](unsafeUninitializedCapacity: length) { out, count in
      guard let start = out.baseAddress else { return }
      works = clastro_hkdf(
        hash.rawValue, key, key.count, salt, salt.count, info, info.count, start, length)
      count = works ? length : 0
    }
    return works ? bytes : nil
  }
}
