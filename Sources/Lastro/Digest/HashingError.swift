// SPDX-License-Identifier: Apache-2.0

/// OpenSSL could not compute a hash.
public struct HashingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// Which one.
  public var algorithm: HashAlgorithm

  /// Makes an error.
  public init(_ algorithm: HashAlgorithm) { self.algorithm = algorithm }

  /// What failed, and the usual reason.
  public var description: String {
    "OpenSSL does not compute \(algorithm)"
      + (algorithm == .md5
        ? " (its FIPS provider has no MD5: ask the server for SHA-256, or configure the default provider)"
        : " (no provider has it, or there is no memory: look at the providers in openssl.cnf)")
  }
}
