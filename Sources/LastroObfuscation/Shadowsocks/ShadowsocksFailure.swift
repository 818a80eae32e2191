// SPDX-License-Identifier: Apache-2.0

/// Why a stream of Shadowsocks is over, or a key is none.
package enum ShadowsocksFailure: Error, Equatable, Sendable {
  /// The length of the first chunk does not open: another password or method, or another protocol.
  case wrongKey
  /// The first chunk has the right length, and its payload does not open.
  case wrongFirstPayload
  /// A chunk behind the first does not open.
  case wrongChunk
  /// The length of a chunk is 0, or has one of the bits that are reserved.
  case wrongLength
  /// The other side's salt is our own: what we sent was played to us.
  case reflected
  /// The stream ended within the salt or a chunk; no machine says so, for none is told of the end.
  case truncated
  /// 2^64 − 1 seals or opens were done; there is no other key.
  case counterExhausted
  /// libcrypto refuses MD5, of which keys are made.
  case noMD5
  /// libcrypto refuses the cipher or SHA-1, or has no memory.
  case cryptoUnavailable
}
