// SPDX-License-Identifier: Apache-2.0

/// The type of a certificate's key.
public enum CertificateKeyType: Sendable, Hashable, CaseIterable {
  /// ECDSA over P-256. The default, because it is generated in microseconds.
  case p256
  /// ECDSA over P-384.
  case p384
  /// ECDSA over P-521.
  case p521
  /// RSA with 2048 bits. Generating it takes tens of milliseconds.
  case rsa2048
  /// RSA with 3072 bits.
  case rsa3072
  /// RSA with 4096 bits. Generating it takes up to a second.
  case rsa4096
  /// Ed25519 (RFC 8410).
  case ed25519

  /// The name of the type for `cloopback_mint`.
  var name: String {
    switch self {
    case .p256: "P-256"
    case .p384: "P-384"
    case .p521: "P-521"
    case .rsa2048: "2048"
    case .rsa3072: "3072"
    case .rsa4096: "4096"
    case .ed25519: "ED25519"
    }
  }
}
