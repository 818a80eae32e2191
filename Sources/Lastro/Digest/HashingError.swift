// SPDX-License-Identifier: Apache-2.0

/// OpenSSL could not compute a hash.
package struct HashingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Which one.
  package var algorithm: HashAlgorithm

  /// Makes an error.
  package init(_ algorithm: HashAlgorithm) { self.algorithm = algorithm }

  /// What failed, and the usual reason.
  package var description: String { error.description }

  /// As callers of the public functions get it.
  var error: ConfigurationError {
    ConfigurationError(
      "OpenSSL does not compute \(algorithm)",
      hint: algorithm == .md5
        ? "its FIPS provider has no MD5: ask the server for SHA-256, or configure the default provider"
        : "no provider has it, or there is no memory: look at the providers in openssl.cnf")
  }
}
