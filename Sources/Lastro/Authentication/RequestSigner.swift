// SPDX-License-Identifier: Apache-2.0

/// Signs requests: sees what is about to be sent, and the hash of its body.
///
/// Signers come after all interceptors, in array order, for every attempt and every redirect followed. What they return
/// is checked once more, and sent.
public protocol RequestSigner: Sendable {
  /// Where requests are signed; others pass as they are.
  var origins: [Origin] { get }

  /// Signs a request: sets header fields, or adds to the query. Runs on the concurrent pool, or on the executor that
  /// the caller's task prefers; may wait, such as for a key.
  ///
  /// Set fields rather than adding them: the request of a redirect has those of the one before it. Fields that a signer
  /// sets or changes count as ``RequestOptions/sensitiveHeaders``: they are redacted, and stay behind on a redirect to
  /// another origin. The body stays what it is, whatever is returned, for its hash is known to other signers.
  ///
  /// - Parameters:
  ///   - request: final but for the signatures; its origin is one of ``origins``.
  ///   - bodyDigest: of the body as it is sent.
  ///   - context: where in the call this is.
  /// - Returns: the request, to the same origin.
  /// - Throws: when it cannot be signed; the attempt fails with it, before anything is sent.
  func sign(_ request: ResourceRequest, bodyDigest: BodyDigest, context: AttemptContext) async throws -> ResourceRequest
}
