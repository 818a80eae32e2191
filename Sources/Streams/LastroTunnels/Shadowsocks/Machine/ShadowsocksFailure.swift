// SPDX-License-Identifier: Apache-2.0

/// The reason why a Shadowsocks stream failed, or why a key could not be made.
package enum ShadowsocksFailure: Error, Equatable, Sendable {
  /// The first chunk's length cannot be decrypted: the password, the method or the protocol differs.
  case wrongKey
  /// The first chunk's length is right, but its payload cannot be decrypted.
  case wrongFirstPayload
  /// A later chunk cannot be decrypted.
  case wrongChunk
  /// A chunk's length is 0 or has a reserved bit set.
  case wrongLength
  /// The peer's salt equals ours: our own bytes were reflected.
  case reflected
  /// The stream ended within the salt or a chunk. The readers here do not report this, because they do not see the end
  /// of the stream.
  case truncated
  /// The key has been used for 2^64 − 1 operations, and there is no other key.
  case counterExhausted
  /// libcrypto refuses MD5, which keys are derived with.
  case noMD5
  /// libcrypto refuses the cipher or SHA-1, or is out of memory.
  case cryptoUnavailable
}
