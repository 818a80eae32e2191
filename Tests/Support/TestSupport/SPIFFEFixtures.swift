// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroTesting

extension CertificateAuthority {
  /// Issues the X.509-SVID of a workload, as a certificate without a host name.
  ///
  /// - Parameters:
  ///   - names: the alternative names: URIs, or host names that begin with `DNS:`.
  ///   - validity: the period of validity. Default one year.
  ///   - edit: changes the other contents of the certificate.
  package func svid(
    _ names: String..., validity: CertificateValidity = .days(365), edit: (inout CertificateProfile) -> Void = { _ in }
  ) throws(LoopbackError) -> MintedCertificate {
    var profile = CertificateProfile()
    profile.alternativeNames = names.map { $0.hasPrefix("DNS:") ? $0 : "URI:\($0)" }.joined(separator: ",")
    edit(&profile)
    return try issue(hosts: [], commonName: "workload", validity: validity, profile: profile)
  }
}

extension TLSOptions.Peer {
  /// Requires one of these SPIFFE IDs. A text that is not an ID is left out.
  package static func ids(_ texts: String...) -> Self { .spiffe(Set(texts.compactMap { try? SPIFFEID($0) })) }
}
