// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// JSON Web Tokens (RFC 7519) in their compact form (RFC 7515 §7.1).
enum SignedToken {
  /// Returns the signed token. Both parts have their members in alphabetical order.
  static func text(header: some Encodable, claims: some Encodable, key: SigningKey) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let parts = [Array(try encoder.encode(header)).base64URL, Array(try encoder.encode(claims)).base64URL]
    let text = parts.joined(separator: ".")
    return text + "." + (try key.signature(of: Array(text.utf8))).base64URL
  }
}

/// A public key as a JSON Web Key (RFC 7517, RFC 8037).
struct JSONWebKey: Encodable, Sendable {
  private var kty: String
  private var crv: String?
  private var x: String?
  private var y: String?
  private var n: String?
  private var e: String?

  /// Returns the public half of a key; `nil` for a secret.
  init?(of key: SigningKey) {
    guard case .pair(let handle) = key.material else { return nil }
    func part(_ name: Character) -> String { handle.component(name).base64URL }
    switch key.algorithm {
    case .ed25519: (kty, crv, x) = ("OKP", "Ed25519", part("x"))
    case .ecdsaP256: (kty, crv, x, y) = ("EC", "P-256", part("x"), part("y"))
    case .rsaPSS512, .rsaPSS256, .rsaPKCS1: (kty, n, e) = ("RSA", part("n"), part("e"))
    case .hmacSHA256: return nil
    }
    guard ![x, y, n, e].contains("") else { return nil }
  }
}
