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

  /// The pin of the key, in the form of Lastro's policies.
  ///
  /// - Throws: ``LoopbackError/invalidCertificate(_:)``.
  public var pin: SPKIHash {
    get throws(LoopbackError) {
      do throws(ConfigurationError) {
        return try PeerCertificate.certificates(pem: certificatePEM)[0].pin
      } catch {
        throw .invalidCertificate("the certificate cannot be read: \(error.message)")
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
}
