// SPDX-License-Identifier: Apache-2.0

/// OpenSSL could not compute a hash.
package struct HashingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The algorithm that libcrypto does not provide.
  package var algorithm: HashAlgorithm

  /// Makes an error.
  package init(_ algorithm: HashAlgorithm) { self.algorithm = algorithm }

  /// What failed, and the usual reason.
  package var description: String { error.description }

  /// The error that callers of the public functions get.
  var error: ConfigurationError {
    ConfigurationError(
      "OpenSSL cannot compute \(algorithm)",
      hint: algorithm == .md5
        ? "its FIPS provider has no MD5: ask the server for SHA-256, or configure the default provider"
        : "its providers lack it, or memory ran out: look at the providers in openssl.cnf")
  }
}
