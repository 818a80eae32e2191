// SPDX-License-Identifier: Apache-2.0

/// The reason why a certificate is not the X.509-SVID of a workload, as the end of a sentence about its owner.
struct SVIDFault: Error {
  let text: String
}

extension PeerCertificate {
  /// The SPIFFE ID of the certificate, if it has the form of a workload's X.509-SVID; otherwise `nil`. It must have
  /// exactly one URI among its alternative names, which is an ID with a path, and the key usage `digitalSignature`, and
  /// neither the CA flag nor the key usages `keyCertSign` and `cRLSign`.
  ///
  /// Nothing is verified: of a connection's certificates, only the first of a verified chain proves an ID. The
  /// certificate is parsed on every access. Source: the SPIFFE standard X509-SVID, sections 2 to 5.
  public var spiffeID: SPIFFEID? { try? workloadID() }

  /// Returns the ID of the workload.
  func workloadID() throws(SVIDFault) -> SPIFFEID {
    let uris = uris
    guard uris.count == 1 else {
      guard !uris.isEmpty else { throw SVIDFault(text: "shows no SPIFFE ID") }
      let shown = uris.prefix(4).map { "\"\($0.cut(to: 120).escapedForDisplay)\"" }.joined(separator: ", ")
      let more = uris.count > 4 ? " and \(uris.count - 4) more" : ""
      throw SVIDFault(text: "shows \(uris.count) URIs, \(shown)\(more), and an SVID has one")
    }
    let id: SPIFFEID
    do throws(ConfigurationError) { id = try SPIFFEID(uris[0]) } catch {
      throw SVIDFault(text: "shows an invalid ID: \(error.message)")
    }
    guard !id.path.isEmpty else { throw SVIDFault(text: "shows \(id), which names a trust domain and not a workload") }
    guard let facts, !facts.mayCertify else {
      throw SVIDFault(text: "shows \(id), but with the certificate of an authority")
    }
    guard facts.maySign else { throw SVIDFault(text: "shows \(id), but without the key usage digitalSignature") }
    return id
  }
}
