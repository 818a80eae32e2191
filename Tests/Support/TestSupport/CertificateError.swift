// SPDX-License-Identifier: Apache-2.0

import CLoopback
import CLoopbackClient
import Glibc
package import LastroTesting

/// The reason why a certificate did not verify, or why its files could not be written.
package enum CertificateError: Error, Sendable, Hashable {
  /// A PEM text could not be read.
  case unreadable(String)
  /// A file could not be written.
  case cannotWrite(String)
  /// Verification failed with an `X509_V_ERR_` code.
  case invalid(code: Int32, reason: String)
}

extension MintedCertificate {
  /// Verifies the chain as a TLS client would (`X509_verify_cert`, purpose server authentication).
  ///
  /// - Parameters:
  ///   - host: the DNS name or IP address to match; `nil` for any.
  ///   - roots: the PEM text of the trusted roots.
  package func verify(host: String?, trusting roots: String) throws(CertificateError) {
    let strings = CStrings()
    let problem = ErrorText()
    let code = cloopback_verify(
      strings.copy(chainPEM), strings.copy(roots), host.map(strings.copy), Int64(time(nil)), problem.buffer)
    if code < 0 { throw .unreadable(problem.text) }
    if code > 0 { throw .invalid(code: code, reason: problem.text) }
  }

  /// Returns the SHA-256 hash of the SubjectPublicKeyInfo, 32 bytes, from which a pin is made (RFC 7469 §2.4), computed
  /// without Lastro.
  package func publicKeySHA256() throws(CertificateError) -> [UInt8] {
    let strings = CStrings()
    let problem = ErrorText()
    var digest = [UInt8](repeating: 0, count: 32)
    guard cloopback_public_key_sha256(strings.copy(certificatePEM), &digest, problem.buffer) else {
      throw .unreadable(problem.text)
    }
    return digest
  }
}
