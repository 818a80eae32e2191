// SPDX-License-Identifier: Apache-2.0

/// The reason why an obfs4 handshake or stream failed.
package enum Obfs4Failure: Error, Equatable, Sendable {
  /// The maximum length of a handshake was received without a mark. A server expects the mark at the end of the hello.
  case noMark
  /// The mark is right, but the MAC behind it is wrong.
  case wrongMAC
  /// The server's authentication is wrong. It knows the certificate but not the secret key, or it is older than 2022.
  case wrongAuthentication
  /// The peer's key is a point of low order.
  case zeroSharedSecret
  /// The tag, the length or the packet of a frame is invalid.
  case wrongFrame
  /// The stream ended within a frame. The readers here do not report this, because they do not see the end of the
  /// stream.
  case truncated
  /// The key has been used for 2^64 − 1 frames, and there is no other key.
  case counterExhausted
  /// libcrypto refuses the operation, or is out of memory.
  case cryptoUnavailable
  /// A server has received the same hello before.
  case replayed
}
