// SPDX-License-Identifier: Apache-2.0

/// The hash of a request's body, if it can be computed before the body is sent.
public enum BodyDigest: Sendable, Hashable {
  /// The SHA-256 of the bytes as they are sent; without a body, the hash of zero bytes.
  case sha256(MessageDigest)
  /// The hash is not available, because the body is a stream that can be read only once. Refuse the request, or sign it
  /// in the way that the protocol provides for this case (`UNSIGNED-PAYLOAD` and the like).
  case unavailable
}
