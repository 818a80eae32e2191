// SPDX-License-Identifier: Apache-2.0

/// Signs requests that are about to be sent. A signer also receives the hash of the body.
///
/// Signers run after all interceptors, in array order, for every attempt and every redirect that is followed. The
/// requests that they return are validated again and then sent.
public protocol RequestSigner: Sendable {
  /// The origins whose requests are signed. Other requests are left unchanged.
  var origins: [Origin] { get }

  /// Signs a request: sets header fields, or adds query items. It runs on the concurrent pool, or on the task executor
  /// that the caller prefers. It may wait, for example for a key.
  ///
  /// Set fields instead of adding them: the request of a redirect still has the fields of the request before it. Fields
  /// that a signer sets or changes count as ``RequestOptions/sensitiveHeaders``: they are redacted, and are removed on
  /// a redirect to another origin. A change to the body is ignored, because other signers already use its hash.
  ///
  /// - Parameters:
  ///   - request: the request, complete except for the signatures; its origin is one of ``origins``.
  ///   - bodyDigest: the SHA-256 of the body as it is sent; without a body, that of zero bytes. `nil` if the body is a
  ///     stream that can be read only once: refuse the request, or sign it in the way that the protocol provides for
  ///     this case (`UNSIGNED-PAYLOAD` and the like).
  ///   - context: the current attempt of the call.
  /// - Returns: the signed request, which must have the same origin.
  /// - Throws: an error if the request cannot be signed. The attempt fails with it before anything is sent.
  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest
}
