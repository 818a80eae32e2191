// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The reason why OpenSSL refused a chain or its host name.
struct VerifyFailure {
  /// The result of the verification: `X509_V_ERR_…`.
  let result: Int32
  /// The certificate at fault, if it can be read.
  var certificate: PeerCertificate?
  /// The number of certificates in the chain before the one at fault: 0 for the peer's own.
  var depth = 0

  /// Returns the error.
  ///
  /// - Parameter server: the host and port.
  func failure(of server: String, isProxy: Bool) -> TransportError {
    let stage: FailureStage = isProxy ? .proxy : .tls
    let server = isProxy ? "the proxy \(server)" : server
    switch result {
    case 0:
      return .init(
        stage, .untrustedCertificate, "the certificate of \(server) was refused, and OpenSSL gives no reason",
        "check the host in the URL; if that is right, report it, with what `lastro doctor` prints")
    case X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED:
      return .init(
        stage, .certificateExpired, outOfItsTime(server),
        "check this machine's clock; else the server's owner has to renew it")
    case X509_V_ERR_UNSPECIFIED, X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      return .init(
        stage, .hostMismatch, "the certificate of \(server) \(names)",
        isProxy ? "check the host in the proxy's URL" : "check the host in the URL, or TLS.serverName")
    // The certificate is self-signed, or its issuer was not found.
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
      X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return .init(
        stage, .untrustedCertificate, "the certificate of \(server) leads to no trusted root: \(words)",
        "give the issuing root with TLSOptions.roots, or install it in the system's bundle; the server has to send the "
          + "intermediate certificates")
    default:
      return .init(
        stage, .untrustedCertificate, "OpenSSL refuses the certificate of \(server) or its chain: \(words)",
        "its issuer has to reissue it")
    }
  }

  /// OpenSSL's own description.
  private var words: String { String(cString: X509_verify_cert_error_string(Int(result))) }

  private func outOfItsTime(_ server: String) -> String {
    let facts = certificate?.facts
    let isOver = result == X509_V_ERR_CERT_HAS_EXPIRED
    let what = depth == 0 ? "the certificate of \(server)" : "a certificate in the certificate chain of \(server)"
    let name = depth == 0 ? "it" : facts?.shortSubject ?? "it"
    let dates = facts.map { ": \(name) \(isOver ? "was" : "is") valid \($0.dates)" } ?? ""
    return "\(what) \(isOver ? "has expired" : "is not valid yet")\(dates)"
  }

  private var names: String {
    guard let certificate else { return "is for other names" }
    return certificate.namesInShort.map { "is for other names: \($0)" }
      ?? "names no host: it has no subject alternative name, and a common name does not count"
  }
}
