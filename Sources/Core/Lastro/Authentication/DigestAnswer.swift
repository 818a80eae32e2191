// SPDX-License-Identifier: Apache-2.0

/// The response to a challenge for one request (RFC 7616 §3.4), and the proof expected from the server (§3.5).
struct DigestAnswer: Sendable {
  var challenge: DigestChallenge
  var user: String
  var password: Secret
  var method: String
  /// The path and the query as sent.
  var target: String
  var protection: DigestChallenge.ProtectionChoice
  /// The number of requests sent with this nonce, including this one.
  var count: UInt32
  var clientNonce: String
  /// The nonces with which the session of a `-sess` algorithm began; `nil` if they are the nonces of this answer.
  var session: Session?

  /// The nonces with which a session began.
  struct Session: Sendable, Hashable {
    var nonce: String
    var clientNonce: String
  }

  /// Returns the value of the `Authorization` field.
  ///
  /// - Throws: `HashingError`.
  func authorization() throws(HashingError) -> Secret {
    let response = try proof(of: method)
    var parts = [try userParameter(), "realm=\(Self.quoted(challenge.realm))"]
    parts.append("nonce=\(Self.quoted(challenge.nonce))")
    parts.append("uri=\(Self.quoted(target))")
    parts.append("response=\"\(response)\"")
    if challenge.namesAlgorithm { parts.append("algorithm=\(challenge.algorithm.name)") }
    if let name = protectionName { parts += ["qop=\(name)", "nc=\(countText)", "cnonce=\"\(clientNonce)\""] }
    if let opaque = challenge.opaque { parts.append("opaque=\(Self.quoted(opaque))") }
    if challenge.hashesUser { parts.append("userhash=true") }
    return Secret("Digest " + parts.joined(separator: ", "))
  }

  /// Returns the expected `rspauth` in the response's `Authentication-Info`. Returns `nil` unless the protection is
  /// `auth`.
  ///
  /// - Throws: `HashingError`.
  func serverProof() throws(HashingError) -> String? {
    guard case .auth = protection else { return nil }
    return try proof(of: "")
  }

  private func proof(of method: String) throws(HashingError) -> String {
    let algorithm = challenge.algorithm
    var secret = try algorithm.hash(user, challenge.realm, password.reveal())
    if algorithm.isSession {
      let session = session ?? Session(nonce: challenge.nonce, clientNonce: clientNonce)
      secret = try algorithm.hash(secret, session.nonce, session.clientNonce)
    }
    guard let name = protectionName else {
      return try algorithm.hash(secret, challenge.nonce, try algorithm.hash(method, target))
    }
    var requestHash = try algorithm.hash(method, target)
    if case .authInt(let body) = protection {
      requestHash = try algorithm.hash(method, target, try MessageDigest(of: body, algorithm.hash).hexadecimal)
    }
    return try algorithm.hash(secret, challenge.nonce, countText, clientNonce, name, requestHash)
  }

  private var protectionName: String? {
    switch protection {
    case .legacy, .impossible: nil
    case .auth: "auth"
    case .authInt: "auth-int"
    }
  }

  /// The count in 8 hexadecimal digits.
  private var countText: String {
    let digits = String(count, radix: 16)
    return String(repeating: "0", count: max(0, 8 - digits.count)) + digits
  }

  /// Returns the parameter with the user name. The name is hashed if the server asks for that. A name that is not ASCII
  /// is encoded as in RFC 8187 if the server declared UTF-8.
  private func userParameter() throws(HashingError) -> String {
    if challenge.hashesUser { return "username=\"\(try challenge.algorithm.hash(user, challenge.realm))\"" }
    if challenge.isUTF8, !user.utf8.allSatisfy({ $0 < 0x80 }) {
      return "username*=UTF-8''" + user.percentEncoded(keeping: Self.extendedValue)
    }
    return "username=\(Self.quoted(user))"
  }

  /// The characters `attr-char` of RFC 8187 §3.2.1.
  private static let extendedValue = ByteSet(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789!#$&+-.^_`|~")

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}
