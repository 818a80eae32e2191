// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

/// The validation of cipher names. OpenSSL ignores ciphers that it does not know, so a typo would silently change the
/// list.
enum CipherNames {
  static func check(_ options: TLSOptions) throws(TransportError) {
    try check(options.legacyCiphers, isTLS13: false)
    try check(options.cipherSuites, isTLS13: true)
  }

  private static func check(_ names: [String]?, isTLS13: Bool) throws(TransportError) {
    guard let names else { return }
    guard !names.isEmpty else {
      throw .invalidTLSOptions(
        "the list of ciphers is empty", hint: "name a cipher, or leave it nil for OpenSSL's choice")
    }
    for name in names {
      // OpenSSL's list syntax is rejected, because it allows elements such as `@SECLEVEL=0`.
      let isName = name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
      guard isName, clastro_knows_cipher(name, isTLS13) else {
        throw .invalidTLSOptions(
          "OpenSSL knows no cipher \"\(name)\" of \(isTLS13 ? "TLS 1.3" : "TLS 1.2 or older")",
          hint: "`openssl ciphers -v` lists them; those of TLS 1.3 go into cipherSuites, older ones into legacyCiphers")
      }
    }
  }
}
