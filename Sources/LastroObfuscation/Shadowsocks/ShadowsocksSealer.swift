// SPDX-License-Identifier: Apache-2.0
private import CLastroObfuscation

/// The nonce of an operation: its number, little endian, in 12 bytes.
package enum ShadowsocksNonce {
  package static func withBytes<Answer>(
    of operation: UInt128, _ body: (UnsafePointer<UInt8>) -> Answer
  ) -> Answer {
    // The first 12 of 16.
    withUnsafePointer(to: operation.littleEndian) { number in
      number.withMemoryRebound(to: UInt8.self, capacity: 16, body)
    }
  }
}

/// One direction's cipher and the number of its operations, of which the nonces are made.
struct ShadowsocksSealer: ~Copyable, @unchecked Sendable {
  // Sendable because a value has one owner, and what is behind the pointer has no other.
  private let aead: OpaquePointer
  private var operation: UInt128

  static let tagLength = 16
  /// All are fewer than 2^64.
  private static let lastOperation = UInt128(UInt64.max) - 1

  /// - Parameters:
  ///   - seals: else it opens.
  ///   - operation: the number of the first.
  /// - Throws: ``ShadowsocksFailure/cryptoUnavailable``.
  init(_ key: ShadowsocksKey, salt: [UInt8], seals: Bool, operation: UInt128) throws(ShadowsocksFailure) {
    let kind =
      switch key.cipher {
      case .aes128GCM: CLASTRO_AES_128_GCM
      case .aes256GCM: CLASTRO_AES_256_GCM
      case .chaCha20Poly1305: CLASTRO_CHACHA20_POLY1305
      }
    let subkey = try key.subkey(salt: salt)
    guard let aead = clastro_aead_new(kind, subkey, seals) else { throw .cryptoUnavailable }
    self.aead = aead
    self.operation = operation
  }

  deinit { clastro_aead_free(aead) }

  /// Whether both seals of a chunk have a nonce left.
  var canSealChunk: Bool { operation < Self.lastOperation }

  /// Seals in place: the tag goes behind the message, into the last 16 bytes.
  mutating func seal(_ space: UnsafeMutableBufferPointer<UInt8>) throws(ShadowsocksFailure) {
    guard space.count >= Self.tagLength, let start = space.baseAddress else { throw .cryptoUnavailable }
    let works = ShadowsocksNonce.withBytes(of: try nextOperation()) {
      clastro_aead_seal(aead, $0, start, space.count - Self.tagLength, start)
    }
    guard works else { throw .cryptoUnavailable }
  }

  /// Fills 16 bytes less than is sealed. False for a wrong tag, and then they are zero.
  mutating func open(
    _ sealed: UnsafeBufferPointer<UInt8>, into out: UnsafeMutableBufferPointer<UInt8>
  ) throws(ShadowsocksFailure) -> Bool {
    guard let source = sealed.baseAddress, let start = out.baseAddress, out.count >= sealed.count - Self.tagLength
    else {
      throw .cryptoUnavailable
    }
    let answer = ShadowsocksNonce.withBytes(of: try nextOperation()) {
      clastro_aead_open(aead, $0, source, sealed.count, start)
    }
    switch answer {
    case CLASTRO_OPENED: return true
    case CLASTRO_FORGED: return false
    default: throw .cryptoUnavailable
    }
  }

  private mutating func nextOperation() throws(ShadowsocksFailure) -> UInt128 {
    guard operation <= Self.lastOperation else { throw .counterExhausted }
    defer { operation += 1 }
    return operation
  }
}
