// SPDX-License-Identifier: Apache-2.0

internal import CLastroSigning

/// An algorithm that signs with a key.
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// Ed25519 (RFC 8032).
  case ed25519
  /// ECDSA with the curve P-256 and SHA-256 (FIPS 186-4). A signature is r and s, 32 bytes each.
  case ecdsaP256
  /// RSASSA-PSS with SHA-512 and a salt of 64 bytes (RFC 8017 §8.1).
  case rsaPSS512
  /// RSASSA-PSS with SHA-256 and a salt of 32 bytes (RFC 8017 §8.1). HTTP message signatures have no name for it.
  case rsaPSS256
  /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017 §8.2), for servers that know nothing newer.
  case rsaPKCS1
  /// HMAC-SHA-256 (RFC 2104) with a secret that both sides know.
  case hmacSHA256

  /// The name for HTTP message signatures (RFC 9421 §6.2.2); `nil` if they have none.
  var messageName: String? {
    switch self {
    case .ed25519: "ed25519"
    case .ecdsaP256: "ecdsa-p256-sha256"
    case .rsaPSS512: "rsa-pss-sha512"
    case .rsaPSS256: nil
    case .rsaPKCS1: "rsa-v1_5-sha256"
    case .hmacSHA256: "hmac-sha256"
    }
  }

  /// The name for JSON Web Signatures (RFC 7518 §3.1, RFC 8037 §3.1).
  var tokenName: String {
    switch self {
    case .ed25519: "EdDSA"
    case .ecdsaP256: "ES256"
    case .rsaPSS512: "PS512"
    case .rsaPSS256: "PS256"
    case .rsaPKCS1: "RS256"
    case .hmacSHA256: "HS256"
    }
  }

  /// The kind of the keys; `nil` for secrets.
  var kind: clastro_key_kind? {
    switch self {
    case .ed25519: CLASTRO_KEY_ED25519
    case .ecdsaP256: CLASTRO_KEY_P256
    case .rsaPSS512, .rsaPSS256, .rsaPKCS1: CLASTRO_KEY_RSA
    case .hmacSHA256: nil
    }
  }

  var digest: String? {
    switch self {
    case .ed25519: nil
    case .rsaPSS512: "SHA512"
    case .ecdsaP256, .rsaPSS256, .rsaPKCS1, .hmacSHA256: "SHA256"
    }
  }

  var padding: clastro_padding {
    switch self {
    case .rsaPSS512, .rsaPSS256: CLASTRO_PSS
    case .rsaPKCS1: CLASTRO_PKCS1
    case .ed25519, .ecdsaP256, .hmacSHA256: CLASTRO_NO_PADDING
    }
  }
}
