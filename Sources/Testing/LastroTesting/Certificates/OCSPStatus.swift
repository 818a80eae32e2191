// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// The status of a certificate in an OCSP response (RFC 6960 §2.2).
package enum OCSPStatus: Sendable, Hashable, CaseIterable {
  /// The certificate is not revoked.
  case good
  /// The certificate is revoked because its key is compromised.
  case revoked
  /// The responder does not know the certificate.
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
  /// Creates an OCSP response with the status "good" for a certificate of this authority, to be stapled
  /// (``LoopbackTLS/ocspResponse``).
  ///
  /// - Parameters:
  ///   - certificate: the certificate whose status is reported.
  ///   - validity: `thisUpdate` and `nextUpdate`. Default: from an hour ago for a week. ``CertificateValidity/expired``
  ///     makes an outdated response.
  /// - Returns: the response in DER (RFC 6960 §4.2.1).
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public func ocspResponse(
    for certificate: MintedCertificate, validity: CertificateValidity = .days(7)
  ) throws(LoopbackError) -> [UInt8] {
    do throws(CertificateError) {
      return try ocspResponse(for: certificate, status: .good, validity: validity, signedBy: self)
    } catch {
      throw .invalidCertificate(error.description)
    }
  }

  /// Creates an OCSP response that another authority signed.
  package func ocspResponse(
    for certificate: MintedCertificate, signedBy signer: CertificateAuthority
  ) throws(CertificateError) -> [UInt8] {
    try ocspResponse(for: certificate, status: .good, signedBy: signer)
  }

  /// Creates an OCSP response with a status.
  ///
  /// - Parameters:
  ///   - certificate: the certificate of the response.
  ///   - status: the status.
  ///   - validity: `thisUpdate` and `nextUpdate`. Default: from an hour ago for a week.
  ///   - signer: the authority that signs the response. Default: this one. A response that another authority signed
  ///     proves nothing.
  /// - Returns: the response in DER (RFC 6960 §4.2.1).
  /// - Throws: ``CertificateError/cannotMint(_:)``.
  package func ocspResponse(
    for certificate: MintedCertificate, status: OCSPStatus, validity: CertificateValidity = .days(7),
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
