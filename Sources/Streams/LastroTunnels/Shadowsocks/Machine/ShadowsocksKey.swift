// SPDX-License-Identifier: Apache-2.0
private import CLastroPrimitives

/// The ciphers of Shadowsocks AEAD (SIP004). The raw values are the names of the methods.
package enum ShadowsocksCipher: String, Sendable, Hashable, CaseIterable {
  case aes128GCM = "aes-128-gcm"
  case aes256GCM = "aes-256-gcm"
  case chaCha20Poly1305 = "chacha20-ietf-poly1305"

  /// The length of a key, and of a salt, in bytes.
  package var keyLength: Int { self == .aes128GCM ? 16 : 32 }
}

/// The master key of a password. The key of each direction is derived from it.
package struct ShadowsocksKey: Sendable, Hashable {
  package let cipher: ShadowsocksCipher
  package let bytes: [UInt8]

  /// Derives the key as `EVP_BytesToKey` does with MD5 and without a salt.
  ///
  /// - Throws: ``ShadowsocksFailure/noMD5``.
  package init(password: [UInt8], cipher: ShadowsocksCipher) throws(ShadowsocksFailure) {
    var bytes: [UInt8] = [], last: [UInt8] = []
    while bytes.count < cipher.keyLength {
      last = try Self.md5(last + password)
      bytes += last
    }
    self.cipher = cipher
    self.bytes = [UInt8](bytes.prefix(cipher.keyLength))
  }

  package init?(cipher: ShadowsocksCipher, bytes: [UInt8]) {
    guard bytes.count == cipher.keyLength else { return nil }
    self.cipher = cipher
    self.bytes = bytes
  }

  /// Returns the key of the direction that begins with this salt.
  package func subkey(salt: [UInt8]) throws(ShadowsocksFailure) -> [UInt8] {
    let subkey = KeyDerivation.bytes(
      cipher.keyLength, hash: .sha1, key: bytes, salt: salt, info: [UInt8]("ss-subkey".utf8))
    guard let subkey else { throw .cryptoUnavailable }
    return subkey
  }

  private static func md5(_ message: [UInt8]) throws(ShadowsocksFailure) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    guard clastro_md5(message, message.count, &digest) else { throw .noMD5 }
    return digest
  }
}
