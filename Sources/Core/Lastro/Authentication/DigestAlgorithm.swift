// SPDX-License-Identifier: Apache-2.0

/// An algorithm of RFC 7616 §6.1.
struct DigestAlgorithm: Sendable, Hashable {
  var hash: HashAlgorithm
  /// Whether the password's hash is bound to the first nonces (`-sess`).
  var isSession = false

  /// Reads the value of an `algorithm` parameter, in any case. Returns `nil` for an unknown algorithm.
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

  /// The name of the algorithm as it is sent.
  var name: String { hash.rawValue.replacing("/", with: "-") + (isSession ? "-sess" : "") }

  /// Joins texts with colons and returns their hash, as `KD` and the other functions of RFC 7616 §3.3 do.
  func hash(_ parts: String...) throws(HashingError) -> String {
    try MessageDigest(of: Array(parts.joined(separator: ":").utf8), hash).hexadecimal
  }
}
