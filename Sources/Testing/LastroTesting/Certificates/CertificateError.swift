// SPDX-License-Identifier: Apache-2.0

/// The reason why a certificate could not be created, or did not verify. Public functions throw it as a
/// ``LoopbackError/invalidCertificate(_:)``.
package enum CertificateError: Error, Sendable, Hashable, CustomStringConvertible {
  /// OpenSSL failed to create the certificate; the text names the step.
  case cannotMint(String)
  /// A PEM text could not be read.
  case unreadable(String)
  /// A file could not be written.
  case cannotWrite(String)
  /// Verification failed with an `X509_V_ERR_` code.
  case invalid(code: Int32, reason: String)

  /// The error as a sentence.
  package var description: String {
    switch self {
    case .cannotMint(let reason): "the certificate cannot be made: \(reason)"
    case .unreadable(let reason): "the certificate cannot be read: \(reason)"
    case .cannotWrite(let reason): "the certificate's files cannot be written: \(reason)"
    case .invalid(let code, let reason): "the certificate is not valid: \(reason) (\(code))"
    }
  }
}
