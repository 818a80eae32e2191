// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroWire

/// A challenge of the scheme `Digest` that can be answered (RFC 7616 §3.3).
///
/// `domain` is not read: credentials go to configured origins, whatever a server says, and within an origin a digest in
/// the wrong place gives nothing away that would work elsewhere; its 401 brings the right challenge.
struct DigestChallenge: Sendable, Hashable {
  /// How the body takes part.
  enum Protection: String, Sendable, Hashable {
    /// The body does not take part.
    case auth
    /// The hash of the body takes part.
    case authInt = "auth-int"
  }

  var realm: String
  var nonce: String
  var opaque: String?
  var algorithm: DigestAlgorithm
  /// Whether the algorithm was named: one that was not is not sent back.
  var namesAlgorithm: Bool
  /// Empty for a server of RFC 2069.
  var protections: Set<Protection>
  var isStale: Bool
  var hashesUser: Bool
  var isUTF8: Bool

  /// Reads a challenge; `nil` for another scheme, and for what cannot be answered: no realm or nonce, an unknown
  /// algorithm or quality of protection, a session without a client's nonce, parameters that come twice.
  init?(_ challenge: AuthenticationChallenge) {
    guard challenge.scheme == "digest", !challenge.hasDuplicates, let realm = challenge["realm"],
      let nonce = challenge["nonce"], let algorithm = DigestAlgorithm(challenge["algorithm"] ?? "MD5"),
      realm.utf8.count + nonce.utf8.count + (challenge["opaque"]?.utf8.count ?? 0) <= Self.echoedBytes
    else { return nil }
    let offered = (challenge["qop"] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
    protections = Set(offered.compactMap { Protection(rawValue: String($0)) })
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

  /// Most bytes of what is sent back as it came: servers refuse long fields.
  static let echoedBytes = 4096

  /// The one to answer: the first of those with the strongest algorithm that OpenSSL has. The SHA-2 algorithms are as
  /// strong as each other.
  static func strongest(
    of challenges: [AuthenticationChallenge], allowsMD5: Bool,
    isAvailable: (HashAlgorithm) -> Bool = { (try? MessageHasher($0)) != nil }
  ) -> DigestChallenge? {
    let known = challenges.compactMap { Self($0) }.filter { isAvailable($0.algorithm.hash) }
    return known.first { $0.algorithm.hash != .md5 } ?? (allowsMD5 ? known.first : nil)
  }

  /// What a request with such a body is protected with: `auth` where it is offered, `auth-int` for bodies in memory.
  func protection(for body: RequestBody) -> ProtectionChoice {
    if protections.isEmpty { return .legacy }
    if protections.contains(.auth) { return .auth }
    switch body.source {
    case .empty: return .authInt([])
    case .bytes(let data): return .authInt(Array(data))
    case .file, .stream: return .impossible
    }
  }

  /// What is done for one request.
  enum ProtectionChoice: Sendable, Hashable {
    /// As RFC 2069 has it.
    case legacy
    case auth
    case authInt([UInt8])
    /// The body is not in memory, and has to be.
    case impossible
  }
}

extension AuthenticationChallenge {
  /// The challenges of a response, all its `WWW-Authenticate` fields together, in order.
  ///
  /// Reads what is well-formed: from the first violation of the grammar on, a field is ignored, the challenge in which
  /// it is included. Bounded: a field longer than 16 KiB is ignored, and so are those behind the first 16.
  static func challenges(in fields: HTTPFields) -> [Self] {
    fields[values: .wwwAuthenticate].prefix(16).flatMap { read($0) }
  }
}
