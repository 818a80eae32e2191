// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroWire

/// A challenge of the scheme `Digest` that the authenticator can answer (RFC 7616 §3.3).
///
/// `domain` is ignored: credentials are sent only to configured origins. Within an origin, a digest that is sent to the
/// wrong path reveals nothing that works elsewhere, and the 401 there has the correct challenge.
struct DigestChallenge: Sendable, Hashable {
  var realm: String
  var nonce: String
  var opaque: String?
  var algorithm: DigestAlgorithm
  /// Whether the challenge named the algorithm. If not, the algorithm is not sent back.
  var namesAlgorithm: Bool
  /// The offered protections that are known, `auth` and `auth-int`; empty for a server of RFC 2069.
  var protections: Set<Substring>
  var isStale: Bool
  var hashesUser: Bool
  var isUTF8: Bool

  /// Reads a challenge. Returns `nil` for another scheme, and for a challenge that cannot be answered: it has no realm
  /// or nonce, an unknown algorithm or quality of protection, a `-sess` algorithm without `qop`, duplicate parameters,
  /// or more than 4096 bytes to send back.
  init?(_ challenge: AuthenticationChallenge) {
    guard challenge.scheme == "digest", !challenge.hasDuplicates, let realm = challenge["realm"],
      let nonce = challenge["nonce"], let algorithm = DigestAlgorithm(challenge["algorithm"] ?? "MD5"),
      realm.utf8.count + nonce.utf8.count + (challenge["opaque"]?.utf8.count ?? 0) <= Self.echoedBytes
    else { return nil }
    let offered = (challenge["qop"] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
    protections = Set(offered).intersection(["auth", "auth-int"])
    guard offered.isEmpty || !protections.isEmpty, !algorithm.isSession || !protections.isEmpty else { return nil }
    self.realm = realm
    self.nonce = nonce
    self.algorithm = algorithm
    opaque = challenge["opaque"]
    namesAlgorithm = challenge["algorithm"] != nil
    isStale = challenge["stale"]?.lowercased() == "true"
    hashesUser = challenge["userhash"]?.lowercased() == "true"
    isUTF8 = challenge["charset"]?.lowercased() == "utf-8"
  }

  /// The maximum number of bytes that are sent back unchanged: servers refuse long fields.
  static let echoedBytes = 4096

  /// Returns the challenge to answer: the first one with the strongest algorithm that OpenSSL supports. The SHA-2
  /// algorithms count as equally strong.
  static func strongest(
    of challenges: [AuthenticationChallenge], allowsMD5: Bool,
    isAvailable: (HashAlgorithm) -> Bool = { (try? MessageHasher($0)) != nil }
  ) -> DigestChallenge? {
    let known = challenges.compactMap { Self($0) }.filter { isAvailable($0.algorithm.hash) }
    return known.first { $0.algorithm.hash != .md5 } ?? (allowsMD5 ? known.first : nil)
  }

  /// Returns the protection for a request with the given body: `auth` if it is offered, otherwise `auth-int`, which
  /// needs the body in memory.
  func protection(for body: RequestBody) -> ProtectionChoice {
    if protections.isEmpty { return .legacy }
    if protections.contains("auth") { return .auth }
    switch body.source {
    case .empty: return .authInt([])
    case .bytes(let data): return .authInt(Array(data))
    case .file, .stream: return .impossible
    }
  }

  /// The protection of one request.
  enum ProtectionChoice: Sendable, Hashable {
    /// The older form of RFC 2069.
    case legacy
    case auth
    case authInt([UInt8])
    /// The body must be in memory but is not.
    case impossible
  }
}

extension AuthenticationChallenge {
  /// Returns the challenges of a response, from all its `WWW-Authenticate` fields, in order.
  ///
  /// From the first violation of the grammar on, the rest of a field is ignored, including the challenge with the
  /// violation. Fields longer than 16 KiB are ignored, and so are all fields after the first 16.
  static func challenges(in fields: HTTPFields) -> [Self] {
    fields[values: .wwwAuthenticate].prefix(16).flatMap { read($0) }
  }
}
