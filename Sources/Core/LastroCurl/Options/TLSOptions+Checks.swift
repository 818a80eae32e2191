// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension TLSOptions {
  /// Checks the range of TLS versions and the names of ciphers. libcurl and OpenSSL report an empty range only in the
  /// handshake, and as if the server were at fault. OpenSSL ignores ciphers that it does not know, so a typo would
  /// silently change the list.
  func checkVersionsAndCiphers() throws(TransportError) {
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
