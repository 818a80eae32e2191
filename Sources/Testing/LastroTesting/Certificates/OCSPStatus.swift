// SPDX-License-Identifier: Apache-2.0

import CLoopback

/// The status of a certificate in an OCSP response (RFC 6960 §2.2), by its number in the response.
package enum OCSPStatus: Int32, Sendable, Hashable, CaseIterable {
  /// The certificate is not revoked.
  case good = 0
  /// The certificate is revoked because its key is compromised.
  case revoked = 1
  /// The responder does not know the certificate.
  case unknown = 2
}

extension CertificateAuthority {
  /// Creates an OCSP response with the status "good" for a certificate of this authority, to be stapled
  /// (``LoopbackTLS/ocspResponse``).
  ///
  /// - Parameters:
  ///   - certificate: the certificate whose status is reported.
  ///   - days: the days from `thisUpdate` to `nextUpdate`, counted from now; the response begins an hour early. Default
  ///     `0...7`. A response of `-7 ... -1` is outdated.
  /// - Returns: the response in DER (RFC 6960 §4.2.1).
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public func ocspResponse(
    for certificate: MintedCertificate, days: ClosedRange<Int> = 0...7
  ) throws(LoopbackError) -> [UInt8] {
    try ocspResponse(for: certificate, status: .good, validity: CertificateValidity(days: days))
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
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  package func ocspResponse(
    for certificate: MintedCertificate, status: OCSPStatus, validity: CertificateValidity = .days(7),
    signedBy signer: CertificateAuthority? = nil
  ) throws(LoopbackError) -> [UInt8] {
    let signer = signer ?? self
    let strings = CStrings()
    let problem = ErrorText()
    var request = cloopback_ocsp_request(
      certificate_pem: strings.copy(certificate.certificatePEM),
      issuer_certificate_pem: strings.copy(certificatePEM),
      signer_certificate_pem: strings.copy(signer.certificatePEM),
      signer_key_pem: strings.copy(signer.identity.privateKeyPEM),
      status: status.rawValue, this_update: validity.notBefore, next_update: validity.notAfter)
    var bytes: UnsafeMutablePointer<UInt8>?
    var count = 0
    guard cloopback_ocsp(&request, &bytes, &count, problem.buffer), let bytes else {
      throw .cannotMint(problem.text)
    }
    defer { cloopback_free(bytes) }
    return Array(UnsafeBufferPointer(start: bytes, count: count))
  }
}
