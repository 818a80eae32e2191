// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A certificate with its private key and the chain to its root, as PEM texts.
///
/// It is meant for tests only: the private key is in memory, unencrypted.
public struct MintedCertificate: Sendable, Hashable {
  /// The certificate (RFC 7468 `CERTIFICATE`).
  public let certificatePEM: String
  /// Its private key, unencrypted (RFC 7468 `PRIVATE KEY`).
  public let privateKeyPEM: String
  /// The certificate and its intermediates, without the root, as sent by a TLS server.
  public let chainPEM: String

  /// Creates a certificate from existing PEM texts.
  ///
  /// - Parameters:
  ///   - certificatePEM: the certificate.
  ///   - privateKeyPEM: the private key.
  ///   - chainPEM: the certificate and its intermediates. Default: the certificate alone.
  public init(certificatePEM: String, privateKeyPEM: String, chainPEM: String? = nil) {
    self.certificatePEM = certificatePEM
    self.privateKeyPEM = privateKeyPEM
    self.chainPEM = chainPEM ?? certificatePEM
  }

  /// Returns the SHA-256 hash of the SubjectPublicKeyInfo, 32 bytes, from which a pin is made (RFC 7469 §2.4).
  ///
  /// - Throws: ``CertificateError/unreadable(_:)``.
  package func publicKeySHA256() throws(CertificateError) -> [UInt8] {
    try CertificateMint.publicKeySHA256(certificatePEM)
  }

  /// The pin of the key, in the form of Lastro's policies.
  ///
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public var pin: SPKIHash {
    get throws(LoopbackError) {
      do throws(CertificateError) {
        guard let pin = SPKIHash(try publicKeySHA256()) else { throw .unreadable("its key has no SHA-256") }
        return pin
      } catch {
        throw .invalidCertificate(error.description)
      }
    }
  }

  /// Returns this certificate with other certificates after its chain, such as cross-signed authorities or unrelated
  /// ones. Only the certificate itself of each is added, not its chain.
  package func adding(_ certificates: MintedCertificate...) -> MintedCertificate {
    with(chainPEM: chainPEM + certificates.map(\.certificatePEM).joined())
  }

  /// Returns this certificate with exactly these certificates after it, in this order, which may be wrong.
  package func sending(_ certificates: [MintedCertificate]) -> MintedCertificate {
    with(chainPEM: certificatePEM + certificates.map(\.certificatePEM).joined())
  }

  /// This certificate without intermediates: a common mistake, which clients cannot correct.
  public var withoutIntermediates: MintedCertificate { sending([]) }

  private func with(chainPEM: String) -> MintedCertificate {
    MintedCertificate(certificatePEM: certificatePEM, privateKeyPEM: privateKeyPEM, chainPEM: chainPEM)
  }

  /// Verifies the chain as a TLS client would (`X509_verify_cert`, purpose server authentication).
  ///
  /// - Parameters:
  ///   - host: the DNS name or IP address to match; `nil` for any.
  ///   - roots: the PEM text of the trusted roots.
  ///   - time: the time in seconds since 1970. Default: now.
  /// - Throws: ``CertificateError``.
  package func verify(host: String?, trusting roots: String, at time: Int64? = nil) throws(CertificateError) {
    try CertificateMint.verify(chain: chainPEM, host: host, roots: roots, at: time ?? CertificateValidity.now)
  }
}
