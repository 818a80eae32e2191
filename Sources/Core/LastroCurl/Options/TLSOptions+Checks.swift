// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension TLSOptions {
  /// Checks the names that servers must prove, the range of TLS versions and the names of ciphers.
  func check() throws(TransportError) {
    try checkPeer()
    try checkVersionsAndCiphers()
  }

  /// Checks the SPIFFE IDs. Without the rules for trust domains and roots, an authority of one trust domain could
  /// certify servers of another one.
  private func checkPeer() throws(TransportError) {
    switch peer {
    case .hostName: return
    case .spiffe(let ids):
      if ids.isEmpty {
        throw .invalidTLSOptions("the set of required SPIFFE IDs is empty", hint: "give the ID of the server")
      }
      if let domain = ids.first(where: \.path.isEmpty) {
        throw .invalidTLSOptions(
          "the required SPIFFE ID \(domain) names a trust domain and not a workload",
          hint: "add the workload's path, such as \(domain)/shop")
      }
      let domains = Set(ids.map(\.trustDomain)).sorted()
      if domains.count > 1 {
        throw .invalidTLSOptions(
          "the required SPIFFE IDs belong to several trust domains: \(domains.prefix(4).joined(separator: ", "))",
          hint: "use connection options of their own for each trust domain, with its bundle as roots")
      }
    case .spiffeTrustDomain: break
    }
    if roots == .system {
      throw .invalidTLSOptions(
        "a SPIFFE ID is required, and the trusted roots are the system's",
        hint: "give the bundle of the trust domain with TLSOptions.roots")
    }
  }

  /// Checks the range of TLS versions and the names of ciphers. libcurl and OpenSSL report an empty range only in the
  /// handshake, and as if the server were at fault. OpenSSL ignores ciphers that it does not know, so a typo would
  /// silently change the list.
  private func checkVersionsAndCiphers() throws(TransportError) {
    if let maximum = maximumVersion, maximum < minimumVersion {
      throw .invalidTLSOptions(
        "the maximum TLS version, 1.\(maximum.position), is below the minimum, 1.\(minimumVersion.position)",
        hint: "raise maximumVersion, or lower minimumVersion")
    }
    try Self.check(legacyCiphers, isTLS13: false)
    try Self.check(cipherSuites, isTLS13: true)
  }

  private static func check(_ names: [String]?, isTLS13: Bool) throws(TransportError) {
    guard let names else { return }
    guard !names.isEmpty else {
      throw .invalidTLSOptions(
        "the list of ciphers is empty", hint: "name a cipher, or leave it nil for OpenSSL's choice")
    }
    for name in names {
      // Only whole names are accepted, because OpenSSL's list syntax allows elements such as `@SECLEVEL=0`. C would
      // read a name up to a NUL in it.
      guard !name.utf8.contains(0), clastro_knows_cipher(name, isTLS13) else {
        throw .invalidTLSOptions(
          "OpenSSL knows no cipher \"\(name)\" of \(isTLS13 ? "TLS 1.3" : "TLS 1.2 or older")",
          hint: "`openssl ciphers -v` lists them; those of TLS 1.3 go into cipherSuites, older ones into legacyCiphers")
      }
    }
  }
}
