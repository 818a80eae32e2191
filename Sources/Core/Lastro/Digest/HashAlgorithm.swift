// SPDX-License-Identifier: Apache-2.0

/// A cryptographic hash function of OpenSSL.
package enum HashAlgorithm: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// SHA-256 (FIPS 180-4): 32 bytes.
  case sha256 = "SHA-256"
  /// SHA-512 (FIPS 180-4): 64 bytes.
  case sha512 = "SHA-512"
  /// SHA-512/256 (FIPS 180-4): 32 bytes, with its own initial values.
  case sha512_256 = "SHA-512/256"
  /// MD5 (RFC 1321): 16 bytes. It is broken (RFC 6151), and only for protocols that offer nothing better.
  case md5 = "MD5"

  /// The name of the algorithm, such as `SHA-256`. `EVP_MD_fetch` knows it too.
  package var description: String { rawValue }
}
