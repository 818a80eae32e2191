// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The reason why OpenSSL refused a chain or its host name.
struct VerifyFailure {
  /// The result of the verification: `X509_V_ERR_…`.
  let result: Int
  /// The certificate at fault, if it can be read.
  var certificate: PeerCertificate?
  /// The number of certificates in the chain before the one at fault: 0 for the peer's own.
  var depth = 0

  /// Returns the meaning for an error.
  ///
  /// - Parameter server: the host and port.
  func meaning(of server: String, isProxy: Bool) -> CurlCode.Meaning {
    let stage: FailureStage = isProxy ? .proxy : .tls
    let server = isProxy ? "the proxy \(server)" : server
    switch result {
    case 0:
      return (
        stage, .untrustedCertificate, "the certificate of \(server) was refused, and OpenSSL gives no reason",
        "check the host in the URL; if that is right, report it, with what `lastro doctor` prints"
      )
    case CLASTRO_VERIFY_NOT_YET_VALID, CLASTRO_VERIFY_EXPIRED:
      return (
        stage, .certificateExpired, outOfItsTime(server),
        "check this machine's clock; else the server's owner has to renew it"
      )
    case CLASTRO_VERIFY_UNSPECIFIED, CLASTRO_VERIFY_OTHER_HOST, CLASTRO_VERIFY_OTHER_ADDRESS:
      return (
        stage, .hostMismatch, "the certificate of \(server) \(names)",
        isProxy ? "check the host in the proxy's URL" : "check the host in the URL, or TLS.serverName"
      )
    // The certificate is self-signed, or its issuer was not found.
    case CLASTRO_VERIFY_NO_ISSUER, CLASTRO_VERIFY_SELF_SIGNED_LEAF, CLASTRO_VERIFY_SELF_SIGNED_IN_CHAIN,
      CLASTRO_VERIFY_NO_LOCAL_ISSUER, CLASTRO_VERIFY_UNVERIFIABLE_LEAF:
      return (
        stage, .untrustedCertificate, "the certificate of \(server) leads to no trusted root: \(words)",
        "give the issuing root with TLSOptions.roots, or install it in the system's bundle; the server has to send the "
          + "intermediate certificates"
      )
    default:
      return (
        stage, .untrustedCertificate, "OpenSSL refuses the certificate of \(server) or its chain: \(words)",
        "its issuer has to reissue it"
      )
    }
  }

  /// OpenSSL's own description.
  private var words: String { String(cString: clastro_verify_text(result)) }

  private func outOfItsTime(_ server: String) -> String {
    let facts = certificate?.facts
    let isOver = result == CLASTRO_VERIFY_EXPIRED
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
