// SPDX-License-Identifier: Apache-2.0
private import CLastroPrimitives

extension ShadowsocksServer.Method {
  /// The length of a key, and of a salt, in bytes.
  package var keyLength: Int { self == .aes128GCM ? 16 : 32 }
}

/// The master key of a password. The key of each direction is derived from it.
package struct ShadowsocksKey: Sendable, Hashable {
  package let method: ShadowsocksServer.Method
  package let bytes: [UInt8]

  /// Derives the key as `EVP_BytesToKey` does with MD5 and without a salt.
  ///
  /// - Throws: ``ShadowsocksFailure/noMD5``.
  package init(password: [UInt8], method: ShadowsocksServer.Method) throws(ShadowsocksFailure) {
    var bytes: [UInt8] = [], last: [UInt8] = []
    while bytes.count < method.keyLength {
      last = try Self.md5(last + password)
      bytes += last
    }
    self.method = method
    self.bytes = [UInt8](bytes.prefix(method.keyLength))
  }

  package init?(method: ShadowsocksServer.Method, bytes: [UInt8]) {
    guard bytes.count == method.keyLength else { return nil }
    self.method = method
    self.bytes = bytes
  }

  /// Returns the key of the direction that begins with this salt.
  package func subkey(salt: [UInt8]) throws(ShadowsocksFailure) -> [UInt8] {
    let subkey = KeyDerivation.bytes(
      method.keyLength, hash: .sha1, key: bytes, salt: salt, info: [UInt8]("ss-subkey".utf8))
    guard let subkey else { throw .cryptoUnavailable }
    return subkey
  }

  private static func md5(_ message: [UInt8]) throws(ShadowsocksFailure) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 16)
    guard clastro_digest_of("MD5", message, message.count, &digest, 16) else { throw .noMD5 }
    return digest
  }
}
