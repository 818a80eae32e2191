// SPDX-License-Identifier: Apache-2.0

/// Why a handshake or a stream of obfs4 is over.
package enum Obfs4Failure: Error, Equatable, Sendable {
  /// As many bytes came as a handshake may have, and no mark among them; a server wants it at their end.
  case noMark
  /// The mark came, and the MAC behind it is another.
  case wrongMAC
  /// The server proved nothing: it knows the certificate and not the secret key, or is older than 2022.
  case wrongAuthentication
  /// The other side's key is a point of low order.
  case zeroSharedSecret
  /// A frame or packet that cannot be: tag, length or packet.
  case wrongFrame
  /// The stream ended within a frame; no machine says so, for none is told of the end.
  case truncated
  /// 2^64 − 1 frames went by; there is no other key.
  case counterExhausted
  /// libcrypto refuses, or has no memory.
  case cryptoUnavailable
  /// Of a server: the hello came before.
  case replayed
}
