// SPDX-License-Identifier: Apache-2.0

/// The hash of a request's body, as far as it can be had before the body is sent.
public enum BodyDigest: Sendable, Hashable {
  /// SHA-256 of the bytes as they are sent: of no bytes where there is no body.
  case sha256(MessageDigest)
  /// There is no hash: the body is a stream that can be read once only. Refuse it, or sign as the protocol says for
  /// that (`UNSIGNED-PAYLOAD` and the like).
  case unavailable
}
