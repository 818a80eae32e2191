// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import HTTPTypes
internal import LastroSupport
internal import LastroWire

/// The interceptor that `.digest(user:password:origins:allowsMD5:)` makes, where it is documented.
package final class DigestAuthenticator: RequestAuthenticator, HTTPResourceInterceptor, ScopedAuthenticator,
  PromptInterceptor
{
  /// The user name (RFC 7616 §3.4).
  package let user: String
  /// The origins whose challenges are answered.
  package var origins: [Origin] { scope.origins }

  private let scope: CredentialScope
  private let password: Secret
  private let allowsMD5: Bool
  private let random: RandomSource
  private let sessions = Lock(DigestSessions())

  /// Creates an authenticator. `random` is the source of client nonces; tests replace it.
  package init(
    user: String, password: Secret, origins: [Origin], allowsMD5: Bool = true, random: RandomSource = .system
  ) throws(ConfigurationError) {
    scope = try CredentialScope(origins, allowsInsecureOrigins: true)
    guard !user.hasControlCharacter, !password.reveal().hasControlCharacter else {
      throw ConfigurationError(
        "the user name or the password has a control character in it",
        hint: "remove it: a password read from a file often ends with a newline")
    }
    self.user = user
    self.password = password
    self.allowsMD5 = allowsMD5
    self.random = random
  }

  /// Answers the challenge of the origin, if one is known, for the realm of the latest challenge. Without a known
  /// challenge, an existing digest is removed from the request. Credentials of other schemes are kept.
  ///
  /// - Throws: an error if OpenSSL cannot compute the hash.
  package func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    try authenticate(request, realm: nil)
  }

  /// Does the same as ``authenticate(_:)``, but answers the challenge of the call's last 401 in a retry.
  package func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await result.authenticated { request in
      let realm = scope.origin(of: request).flatMap { refusedRealm(in: context.retryState, of: $0) }
      let request = try authenticate(request, realm: realm)
      return asksFirst(request, context) ? Self.withoutBody(request) : request
    }
  }

  /// The maximum length of bodies in memory that are sent at once. For such bodies, a preceding request without the
  /// body would save nothing.
  private static let smallBody = 64 * 1024
  /// The header fields that make a request depend on its body, or on the server's current state of the resource.
  private static let fieldsOfBodies: [HTTPField.Name] = [
    .contentLength, .transferEncoding, .expect, .contentRange, .ifMatch, .ifNoneMatch, .ifUnmodifiedSince,
  ]

  /// Returns whether a request is first sent without its body, so that the body is not sent in vain.
  private func asksFirst(_ request: ResourceRequest, _ context: AttemptContext) -> Bool {
    switch request.body.source {
    case .empty: return false
    case .bytes(let data): guard data.count > Self.smallBody else { return false }
    case .file, .stream: break
    }
    // Without a possible second request, an empty request might replace a resource with nothing.
    guard context.hop == 0, !context.isLast, let origin = scope.origin(of: request), request.isIdempotent,
      request.head.headerFields[.authorization] == nil,
      !Self.fieldsOfBodies.contains(where: { request.head.headerFields[$0] != nil })
    else { return false }
    // Skip this if the server has already responded to an earlier attempt.
    let hasResponse = context.retryState.errors.contains { ($0 as? HTTPFetchError<any Error>)?.statusCode != nil }
    return !hasResponse && sessions.withLock { !$0.unchallenged.contains(origin) }
  }

  private static func withoutBody(_ request: ResourceRequest) -> ResourceRequest {
    var request = request
    request.options.withheldBody = request.body
    request.body = .empty
    return request
  }

  private func authenticate(_ request: ResourceRequest, realm: String?) throws -> ResourceRequest {
    guard let origin = scope.origin(of: request), !Self.hasOtherCredentials(request) else { return request }
    var request = request
    guard let answer = answer(to: origin, realm: realm, for: request) else {
      // Remove the answer of the request before a redirect: it was for another path.
      if Self.answeredChallenge(of: request) != nil { request.head.headerFields[.authorization] = nil }
      return request
    }
    try request.setHeader("Authorization", try answer.authorization().reveal())
    // Register the password as a secret: a cache separates the responses for the same user name by password.
    request.options.secrets.insert(password)
    return request
  }

  /// Stores the challenge of a 401, and asks for another attempt if that may succeed.
  package func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    guard let request, let response else { return .none }
    let withheld = request.options.withheldBody
    if withheld != nil, response.status != .unauthorized {
      // The complete request must be sent, regardless of the response to the empty one.
      if let origin = scope.origin(of: request) { sessions.withLock { $0.markUnchallenged(origin) } }
      return .retry
    }
    guard let origin = scope.origin(of: request), !Self.hasOtherCredentials(request) else { return .none }
    let answered = Self.answeredChallenge(of: request)
    guard response.status == .unauthorized else {
      takeInformation(of: response, to: request, at: origin)
      return .none
    }
    let offered = AuthenticationChallenge.challenges(in: response.headerFields)
    guard let challenge = DigestChallenge.strongest(of: offered, allowsMD5: allowsMD5),
      challenge.protection(for: withheld ?? request.body) != .impossible
    else { return .none }
    let refusals = retryState.errors.count {
      ($0 as? HTTPFetchError<any Error>)?.statusCode == .unauthorized
    }
    // A refusal by a realm other than the one that was answered does not mean that the password is wrong.
    let isOwn = answered?["realm"] == challenge.realm
    let refused = isOwn ? answered?["nonce"] : nil
    let isOther = answered != nil && !isOwn
    guard Self.mayHelp(challenge, afterRefusals: refusals, refused: refused, isOther: isOther) else {
      if let refused { sessions.withLock { $0.retireNonce(refused, at: origin, realm: challenge.realm) } }
      return .none
    }
    let clientNonce = clientNonce()
    sessions.withLock { $0.storeChallenge(challenge, at: origin, refused: refused, clientNonce: clientNonce) }
    return .retry
  }

  /// Stores the next nonce if the response has one, and discards the challenge if the server's own proof is wrong.
  ///
  /// A wrong proof (`rspauth`, RFC 7616 §3.5) means that the server, or a machine on the network path, does not know
  /// the password. The response has already been received and is not rejected: only https authenticates the server in
  /// advance.
  package func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    guard let origin = scope.origin(of: request) else { return }
    takeInformation(of: response, to: request, at: origin)
  }

  /// Returns whether another attempt may have a different result.
  private static func mayHelp(
    _ challenge: DigestChallenge, afterRefusals refusals: Int, refused: String?, isOther: Bool
  ) -> Bool {
    switch refusals {
    // If the same nonce comes again and is not stale, the server refused the password.
    case 0: challenge.isStale || challenge.nonce != refused
    case 1: challenge.isStale || isOther
    default: false
    }
  }
}

extension DigestAuthenticator {
  private func answer(to origin: Origin, realm: String?, for request: ResourceRequest) -> DigestAnswer? {
    let turn = sessions.withLock { sessions -> DigestSessions.Turn? in
      guard let current = sessions.current(at: origin, realm: realm),
        current.challenge.protection(for: request.body) != .impossible
      else { return nil }
      return sessions.turn(at: origin, realm: realm)
    }
    guard let turn else { return nil }
    return DigestAnswer(
      challenge: turn.challenge, user: user, password: password, method: request.head.method.rawValue,
      target: request.head.path ?? "/", protection: turn.challenge.protection(for: request.body), count: turn.count,
      // The nonces of a session do not change, so the answer is also correct for servers that compute the session key
      // again for each request.
      clientNonce: turn.session?.clientNonce ?? clientNonce(), session: turn.session)
  }

  /// Returns 128 random bits in hexadecimal digits.
  private func clientNonce() -> String {
    let bits = [random.next(), random.next()]
    return MessageDigest(bits.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
      .hexadecimal
  }

  /// Returns the parameters of the digest on a request; `nil` if the request has no digest.
  private static func answeredChallenge(of request: ResourceRequest) -> AuthenticationChallenge? {
    guard let value = request.head.headerFields[.authorization],
      // Read it without a length limit: we created it, and the URL in it may be long.
      let answered = AuthenticationChallenge.read(value, limit: value.utf8.count).first, answered.scheme == "digest"
    else { return nil }
    return answered
  }

  /// Returns whether a request has credentials that another interceptor set.
  private static func hasOtherCredentials(_ request: ResourceRequest) -> Bool {
    let values = request.head.headerFields[values: .authorization]
    return values.contains { $0.prefix(7).lowercased() != "digest " }
  }

  /// Returns the realm whose challenge a retry answers; `nil` if no 401 of the origin is known.
  private func refusedRealm(in retryState: Retry.State, of origin: Origin) -> String? {
    let refusal = retryState.errors.last { error in
      guard let error = error as? HTTPFetchError<any Error>, error.statusCode == .unauthorized else { return false }
      return (error.response?.url).flatMap { try? Origin($0) } == origin
    }
    guard let fields = (refusal as? HTTPFetchError<any Error>)?.response?.headerFields else { return nil }
    let offered = AuthenticationChallenge.challenges(in: fields)
    return DigestChallenge.strongest(of: offered, allowsMD5: allowsMD5)?.realm
  }

  private func takeInformation(of response: ResourceResponse, to request: ResourceRequest, at origin: Origin) {
    guard let name = HTTPField.Name("Authentication-Info"),
      let value = response.headerFields[name], let information = AuthenticationChallenge.information(in: value),
      let answered = Self.answeredChallenge(of: request), let nonce = answered["nonce"], let realm = answered["realm"]
    else { return }
    // The proof can be checked only with the challenge that was answered.
    let current = sessions.withLock { $0.current(at: origin, realm: realm) }
    guard let current, current.challenge.nonce == nonce else { return }
    if let proof = information["rspauth"], isWrong(proof, answered, request, current) {
      sessions.withLock { $0.retireNonce(nonce, at: origin, realm: realm) }
    } else if let next = information["nextnonce"], !next.isEmpty, next.utf8.count <= DigestChallenge.echoedBytes {
      sessions.withLock { $0.advance(to: next, from: nonce, at: origin, realm: realm) }
    }
  }

  /// Returns whether a server's proof differs from the one expected for the request's digest. A proof that covers a
  /// body is not checked.
  private func isWrong(
    _ proof: String, _ answered: AuthenticationChallenge, _ request: ResourceRequest, _ current: DigestSessions.Turn
  ) -> Bool {
    guard answered["qop"] == "auth", let count = answered["nc"].flatMap({ UInt32(digits: $0, radix: 16) }),
      let clientNonce = answered["cnonce"]
    else { return false }
    let answer = DigestAnswer(
      challenge: current.challenge, user: user, password: password, method: request.head.method.rawValue,
      target: request.head.path ?? "/", protection: .auth, count: count, clientNonce: clientNonce,
      session: current.session)
    guard let expected = try? answer.serverProof() else { return false }
    return MessageDigest(Array(expected.utf8)) != MessageDigest(Array(proof.lowercased().utf8))
  }
}
