// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A certificate with its private key, and what leads from it to its root, as PEM texts.
///
/// For tests only: the private key is in memory in the clear.
public struct MintedCertificate: Sendable, Hashable {
  /// The certificate (RFC 7468 `CERTIFICATE`).
  public let certificatePEM: String
  /// Its private key, unencrypted (RFC 7468 `PRIVATE KEY`).
  public let privateKeyPEM: String
  /// The certificate and the intermediates after it, without the root: what a TLS server sends.
  public let chainPEM: String

  /// Wraps PEM texts made elsewhere.
  ///
  /// - Parameters:
  ///   - certificatePEM: the certificate.
  ///   - privateKeyPEM: its key.
  ///   - chainPEM: default: the certificate alone.
  public init(certificatePEM: String, privateKeyPEM: String, chainPEM: String? = nil) {
    self.certificatePEM = certificatePEM
    self.privateKeyPEM = privateKeyPEM
    self.chainPEM = chainPEM ?? certificatePEM
  }

  /// SHA-256 of the SubjectPublicKeyInfo, 32 bytes: what a pin is made of (RFC 7469 §2.4).
  ///
  /// - Throws: ``CertificateError/unreadable(_:)``.
  public func publicKeySHA256() throws(CertificateError) -> [UInt8] {
    try CertificateMint.publicKeySHA256(certificatePEM)
  }

  /// The pin of its key, as Lastro's policies take it.
  ///
  /// - Throws: ``CertificateError/unreadable(_:)``.
  public var pin: SPKIHash {
    get throws(CertificateError) {
      guard let pin = SPKIHash(try publicKeySHA256()) else { throw .unreadable("its key has no SHA-256") }
      return pin
    }
  }

  /// This certificate, sending others after its chain: cross-signed authorities, or ones that have nothing to do here.
  /// Of each of them only its own certificate is sent, not its chain.
  public func adding(_ certificates: MintedCertificate...) -> MintedCertificate {
    with(chainPEM: chainPEM + certificates.map(\.certificatePEM).joined())
  }

  /// This certificate, sending exactly these after it, in this order, which may be wrong.
  public func sending(_ certificates: [MintedCertificate]) -> MintedCertificate {
    with(chainPEM: certificatePEM + certificates.map(\.certificatePEM).joined())
  }

  /// This certificate, sent alone: a common mistake, which clients cannot mend.
  public var withoutIntermediates: MintedCertificate { sending([]) }

  private func with(chainPEM: String) -> MintedCertificate {
    MintedCertificate(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM, chainPEM: chainPEM)
  }

  /// Verifies the chain as a TLS client would (`X509_verify_cert`, purpose server authentication).
  ///
  /// - Parameters:
  ///   - host: DNS name or IP address to match; `nil` for any.
  ///   - roots: PEM text of the trusted roots.
  ///   - time: seconds since 1970; default: now.
  /// - Throws: ``CertificateError``.
  public func verify(host: String?, trusting roots: String, at time: Int64? = nil) throws(CertificateError) {
    try CertificateMint.verify(chain: chainPEM, host: host, roots: roots, at: time ?? CertificateValidity.now)
  }
}
