// SPDX-License-Identifier: Apache-2.0

/// The kind of a public key. Pins do not depend on it.
package enum PublicKeyKind: Sendable, Hashable, CustomStringConvertible {
  /// RSA, with the size of the modulus in bits.
  case rsa(bits: Int)
  /// An elliptic curve, by its common name, such as `P-256`.
  case ec(curve: String)
  /// Another algorithm, by OpenSSL's name, such as `ED25519`.
  case other(String)

  /// The kind as text, such as `RSA 2048`, `EC P-256` or `ED25519`.
  package var description: String {
    switch self {
    case .rsa(let bits): "RSA \(bits)"
    case .ec(let curve): "EC \(curve)"
    case .other(let name): name
    }
  }

  init(algorithm: String, curve: String?, bits: Int) {
    switch algorithm {
    case "RSA": self = .rsa(bits: bits)
    case "EC": self = .ec(curve: curve.map { Self.curves[$0] ?? $0 } ?? "with parameters of its own")
    default: self = .other(algorithm)
    }
  }

  /// NIST's names of curves, which are in common use, by OpenSSL's names.
  private static let curves = ["prime256v1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"]
}
