// SPDX-License-Identifier: Apache-2.0

/// A signer of the library itself, which says more about its effects than the protocol of all signers.
package protocol StandardSigner: RequestSigner {
  /// The signer and its settings for explanations and ledgers, on one line and without secrets.
  var signature: String { get }

  /// Whether ``RequestSigner/sign(_:bodyDigest:context:)`` uses the hash of the body. Default true. If false, and no
  /// other signer needs the hash, the body is not read before it is sent.
  var usesBodyDigest: Bool { get }

  /// Whether the body of the signed request is sent in place of the original. Default false. A signer whose bodies
  /// contain signatures returns true, and follows no redirects: the body would be wrapped twice.
  var replacesBody: Bool { get }
}

extension StandardSigner {
  /// The default: true.
  package var usesBodyDigest: Bool { true }
  /// The default: false.
  package var replacesBody: Bool { false }
}
