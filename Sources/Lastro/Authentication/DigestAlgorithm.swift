// SPDX-License-Identifier: Apache-2.0

/// The algorithms of RFC 7616 §6.1.
struct DigestAlgorithm: Sendable, Hashable {
  var hash: HashAlgorithm
  /// Whether the password's hash is bound to the first nonces: `-sess`.
  var isSession = false

  /// Reads the value of an `algorithm` parameter, in any case; `nil` for one that is not known.
  init?(_ name: String) {
    var name = name.lowercased()
    if name.hasSuffix("-sess") {
      isSession = true
      name.removeLast(5)
    }
    switch name {
    case "sha-256": hash = .sha256
    case "sha-512-256": hash = .sha512_256
    case "md5": hash = .md5
    default: return nil
    }
  }

  /// The name as it is sent.
  var name: String {
    let base =
      switch hash {
      case .sha256: "SHA-256"
      case .sha512: "SHA-512"
      case .sha512_256: "SHA-512-256"
      case .md5: "MD5"
      }
    return isSession ? base + "-sess" : base
  }

  /// Two texts joined by a colon, hashed: `KD` of RFC 7616 §3.3, and the shape of everything else there.
  func hash(_ parts: String...) throws(HashingError) -> String {
    try MessageDigest(of: Array(parts.joined(separator: ":").utf8), hash).hexadecimal
  }
}
