// SPDX-License-Identifier: Apache-2.0

/// The error if OpenSSL cannot compute a hash.
package struct HashingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The algorithm that libcrypto does not provide.
  package var algorithm: HashAlgorithm

  /// Creates an error.
  package init(_ algorithm: HashAlgorithm) { self.algorithm = algorithm }

  /// The failure and its usual reason.
  package var description: String { error.description }

  /// The error that the public functions throw.
  var error: ConfigurationError {
    ConfigurationError(
      "OpenSSL cannot compute \(algorithm)",
      hint: algorithm == .md5
        ? "its FIPS provider has no MD5: ask the server for SHA-256, or configure the default provider"
        : "its providers lack it, or memory ran out: look at the providers in openssl.cnf")
  }
}
