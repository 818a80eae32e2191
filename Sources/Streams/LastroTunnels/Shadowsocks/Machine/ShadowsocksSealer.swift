// SPDX-License-Identifier: Apache-2.0
private import CLastroPrimitives

/// The nonce of an operation: the operation's number in 12 bytes, little endian.
package enum ShadowsocksNonce {
  package static func withBytes<Answer>(
    of operation: UInt128, _ body: (UnsafePointer<UInt8>) -> Answer
  ) -> Answer {
    // The nonce consists of the first 12 of the 16 bytes.
    withUnsafePointer(to: operation.littleEndian) { number in
      number.withMemoryRebound(to: UInt8.self, capacity: 16, body)
    }
  }
}

/// The cipher of one direction, with the number of its next operation, from which nonces are made.
struct ShadowsocksSealer: ~Copyable, @unchecked Sendable {
  // Sendable because the value has a single owner, which alone uses the object behind the pointer.
  private let aead: OpaquePointer
  private var operation: UInt128

  static let tagLength = 16
  /// The number of the last operation. There are fewer than 2^64 operations.
  private static let lastOperation = UInt128(UInt64.max) - 1

  /// Creates a cipher for one direction.
  ///
  /// - Parameters:
  ///   - seals: whether it seals; otherwise it opens.
  ///   - operation: the number of the first operation.
  /// - Throws: ``ShadowsocksFailure/cryptoUnavailable``.
  init(_ key: ShadowsocksKey, salt: [UInt8], seals: Bool, operation: UInt128) throws(ShadowsocksFailure) {
    let kind =
      switch key.method {
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

  /// Whether there are nonces left for both operations of a chunk.
  var canSealChunk: Bool { operation < Self.lastOperation }

  /// Seals a message in place. The tag is written into the last 16 bytes.
  mutating func seal(_ space: UnsafeMutableBufferPointer<UInt8>) throws(ShadowsocksFailure) {
    guard space.count >= Self.tagLength, let start = space.baseAddress else { throw .cryptoUnavailable }
    let works = ShadowsocksNonce.withBytes(of: try nextOperation()) {
      clastro_aead_seal(aead, $0, start, space.count - Self.tagLength, start)
    }
    guard works else { throw .cryptoUnavailable }
  }

  /// Opens a sealed message into a buffer that needs 16 bytes less. Returns false for a wrong tag; the buffer is zero
  /// then.
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
