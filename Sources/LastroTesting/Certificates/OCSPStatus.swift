// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// What an OCSP response says of a certificate (RFC 6960 §2.2).
public enum OCSPStatus: Sendable, Hashable, CaseIterable {
  /// Not revoked.
  case good
  /// Revoked: its key is compromised.
  case revoked
  /// The responder does not know it.
  case unknown

  var code: Int32 {
    switch self {
    case .good: Int32(CLOOPBACK_OCSP_GOOD)
    case .revoked: Int32(CLOOPBACK_OCSP_REVOKED)
    case .unknown: Int32(CLOOPBACK_OCSP_UNKNOWN)
    }
  }
}

extension CertificateAuthority {
  /// Makes an OCSP response for a certificate of this authority, to be stapled (``LoopbackTLS/ocspResponse``).
  ///
  /// - Parameters:
  ///   - certificate: what it is about.
  ///   - status: default good.
  ///   - validity: `thisUpdate` and `nextUpdate`; default from an hour ago for a week. ``CertificateValidity/expired``
  ///     makes one that is out of date.
  ///   - signer: the authority that signs it; default this one. A response that another one signed proves nothing.
  /// - Returns: the response in DER (RFC 6960 §4.2.1).
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  public func ocspResponse(
    for certificate: MintedCertificate, status: OCSPStatus = .good, validity: CertificateValidity = .days(7),
    signedBy signer: CertificateAuthority? = nil
  ) throws(CertificateError) -> [UInt8] {
    let signer = signer ?? self
    let strings = CStrings()
    let problem = ErrorText()
    var request = cloopback_ocsp_request(
      certificate_pem: strings.copy(certificate.certificatePEM),
      issuer_certificate_pem: strings.copy(certificatePEM),
      signer_certificate_pem: strings.copy(signer.certificatePEM),
      signer_key_pem: strings.copy(signer.identity.privateKeyPEM),
      status: status.code, this_update: validity.notBefore, next_update: validity.notAfter)
    var bytes: UnsafeMutablePointer<UInt8>?
    var count = 0
    guard cloopback_ocsp(&request, &bytes, &count, problem.buffer), let bytes else {
      throw .cannotMint(problem.text)
    }
    defer { cloopback_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: count))
  }
}
