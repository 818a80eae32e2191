// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import LastroSupport
internal import LastroWire

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Proves a password to servers that ask for a digest of it (RFC 7616, and RFC 2069's older form).
///
/// ```swift
/// let digest = try DigestAuthenticator(user: "ci", password: password, origins: [origin])
/// configuration.interceptors.append(digest)
/// ```
///
/// The first request to an origin goes without credentials; its 401 brings a challenge, and the call is tried once
/// more, whatever its method: a 401 says that the server did not act. Later requests are authenticated at once, with
/// counts (`nc`) of their own. When the server calls a nonce stale, the call is tried with the new one. A call is sent
/// three times at most, and a refusal of proper credentials is final.
///
/// A server may have several realms: each has a challenge of its own, and a retry answers the one of its own 401.
/// Requests are authenticated beforehand for the realm that asked last.
///
/// A digest is of method, path, query and, with `auth-int`, body. Interceptors that change those have to come before
/// this one: put it last. A request that has an `Authorization` field of another scheme keeps it, and is left alone.
///
/// A body is sent again with the request, unless it is large or cannot be sent twice (``RequestBody/isReplayable``).
/// Where no challenge is known yet, an idempotent request with such a body is sent without it first, as curl does: one
/// that is streamed, from a file, or longer than 64 KiB. A server that asks for no credentials may act on that empty
/// request; the whole one follows at once. Requests that are conditional or that declare their length are left as they
/// are, and so are requests that are not idempotent, such as a POST: one of those whose body cannot be sent again fails
/// unless something else was fetched before.
///
/// Algorithms: SHA-256, SHA-512-256 and MD5, each also as `-sess`; of several the first that is not MD5. Protection:
/// `auth`; `auth-int` where the server offers nothing else and the body is in memory. `userhash`, `charset`, `opaque`
/// and `nextnonce` are honoured; `domain` is not, for ``origins`` say where credentials go.
///
/// A digest hides the password, and nothing else: over `http` a machine in between can change what is fetched, and
/// guess weak passwords at leisure (RFC 7616 §5).
public final class DigestAuthenticator: RequestAuthenticator, HTTPResourceInterceptor {
  /// The user name (RFC 7616 §3.4).
  public let user: String
  /// The origins whose challenges are answered.
  public var origins: [Origin] { scope.origins }
  /// The origins that get credentials, which are those of ``origins``.
  public var credentialOrigins: [Origin] { scope.origins }
  /// False: an answer is computed, so no task is made for the hook.
  public var hooksWait: Bool { false }

  private let scope: CredentialScope
  private let password: Secret
  private let allowsMD5: Bool
  private let random: RandomSource
  private let sessions = Lock(DigestSessions())

  /// Makes an authenticator.
  ///
  /// - Parameters:
  ///   - user: the user name, in UTF-8 and not normalized.
  ///   - password: in UTF-8 and not normalized.
  ///   - origins: whose challenges are answered; at least one. `http` is allowed.
  ///   - allowsMD5: whether MD5 is answered where the server offers nothing better. Default true: most servers know
  ///     nothing else.
  ///   - random: where client nonces come from. Default ``RandomSource/system``; anything else is for tests.
  /// - Throws: ``ConfigurationError``: no origin; control characters in user name or password.
  public init(
    user: String, password: Secret, origins: [Origin], allowsMD5: Bool = true, random: RandomSource = .system
  ) throws(ConfigurationError) {
    scope = try CredentialScope(origins, allowsInsecureOrigins: true)
    guard !user.hasControlCharacter, !password.reveal().hasControlCharacter else {
      throw ConfigurationError(
        "the user name or the password has a control character in it",
        hint: "remove it: a password read from a file often ends in a line's end")
    }
    self.user = user
    self.password = password
    self.allowsMD5 = allowsMD5
    self.random = random
  }

  /// Answers the origin's challenge where it is known, that of the realm that asked last; a digest that is already
  /// there is removed where it is not. Other credentials that are there stay.
  ///
  /// - Throws: when OpenSSL cannot compute the hash.
  public func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    try authenticate(request, realm: nil)
  }

  /// As ``authenticate(_:)``; in a retry, answers the challenge of the call's last 401.
  public func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await result.authenticated { request in
      let realm = scope.origin(of: request).flatMap { refusedRealm(in: context.retryState, of: $0) }
      let request = try authenticate(request, realm: realm)
      return asksFirst(request, context) ? Self.withoutBody(request) : request
    }
  }

  /// Bodies in memory up to this length are sent at once: a request without them would save nothing.
  private static let smallBody = 64 * 1024
  /// A request with one of these depends on its body, or on what the server has before it.
  private static let fieldsOfBodies: [HTTPField.Name] = [
    .contentLength, .transferEncoding, .expect, .contentRange, .ifMatch, .ifNoneMatch, .ifUnmodifiedSince,
  ]

  /// Whether a request is sent without its body, so that the body is not sent in vain.
  private func asksFirst(_ request: ResourceRequest, _ context: AttemptContext) -> Bool {
    switch request.body.source {
    case .empty: return false
    case .bytes(let data): guard data.count > Self.smallBody else { return false }
    case .file, .stream: break
    }
    // An empty request that nothing can follow might replace a resource by nothing.
    guard context.hop == 0, !context.isLast, let origin = scope.origin(of: request), request.isIdempotent,
      request.head.headerFields[.authorization] == nil,
      !Self.fieldsOfBodies.contains(where: { request.head.headerFields[$0] != nil })
    else { return false }
    // A response to an earlier attempt has said what there is to say.
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
      // The answer of the request before a redirect, which was for another path.
      if Self.answeredChallenge(of: request) != nil { request.head.headerFields[.authorization] = nil }
      return request
    }
    try request.setHeader("Authorization", try answer.authorization().reveal())
    // A cache keeps the responses of a user from requests that have the user name and another password.
    request.options.secrets.insert(password)
    return request
  }

  /// Takes in the challenge of a 401, and asks for another attempt where that may help.
  public func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    guard let request, let response else { return .none }
    let withheld = request.options.withheldBody
    if withheld != nil, response.status != .unauthorized {
      // Whatever this says of an empty request, the whole one has to be sent.
      if let origin = scope.origin(of: request) { sessions.withLock { $0.noteUnchallenged(origin) } }
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
    // A realm that refuses what another one asked for says nothing about the password.
    let isOwn = answered?["realm"] == challenge.realm
    let refused = isOwn ? answered?["nonce"] : nil
    let isOther = answered != nil && !isOwn
    guard Self.mayHelp(challenge, afterRefusals: refusals, refused: refused, isOther: isOther) else {
      if let refused { sessions.withLock { $0.end(refused, at: origin, realm: challenge.realm) } }
      return .none
    }
    let clientNonce = clientNonce()
    sessions.withLock { $0.begin(challenge, at: origin, refused: refused, clientNonce: clientNonce) }
    return .retry
  }

  /// Takes in the next nonce, where the answer has one; forgets the challenge where the server's own proof is wrong.
  ///
  /// A wrong proof (`rspauth`, RFC 7616 §3.5) says that the server, or a machine in between, does not know the
  /// password. The answer has been received by then, and stands: only https proves beforehand which server answers.
  public func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    guard let origin = scope.origin(of: request) else { return }
    takeInformation(of: response, to: request, at: origin)
  }

  /// Whether another attempt may be answered otherwise.
  private static func mayHelp(
    _ challenge: DigestChallenge, afterRefusals refusals: Int, refused: String?, isOther: Bool
  ) -> Bool {
    switch refusals {
    // The same nonce again, and not stale: it is the password that was refused.
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
      // The nonces of a session do not change, so that servers which compute it anew for each request agree.
      clientNonce: turn.session?.clientNonce ?? clientNonce(), session: turn.session)
  }

  /// 128 bits in hexadecimal digits.
  private func clientNonce() -> String {
    let bits = [random.next(), random.next()]
    return MessageDigest(bits.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
      .hexadecimal
  }

  /// The parameters of the digest on a request; `nil` where it has none.
  private static func answeredChallenge(of request: ResourceRequest) -> AuthenticationChallenge? {
    guard let value = request.head.headerFields[.authorization],
      // No limit: we made it, and the URL in it may be long.
      let answered = AuthenticationChallenge.read(value, limit: value.utf8.count).first, answered.scheme == "digest"
    else { return nil }
    return answered
  }

  /// Whether a request has credentials that another interceptor set.
  private static func hasOtherCredentials(_ request: ResourceRequest) -> Bool {
    let values = request.head.headerFields[values: .authorization]
    return values.contains { $0.prefix(7).lowercased() != "digest " }
  }

  /// The realm whose challenge a retry answers; `nil` where no 401 of the origin is known.
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
    // Without the challenge that was answered, the proof cannot be judged.
    let current = sessions.withLock { $0.current(at: origin, realm: realm) }
    guard let current, current.challenge.nonce == nonce else { return }
    if let proof = information["rspauth"], isWrong(proof, answered, request, current) {
      sessions.withLock { $0.end(nonce, at: origin, realm: realm) }
    } else if let next = information["nextnonce"], !next.isEmpty, next.utf8.count <= DigestChallenge.echoedBytes {
      sessions.withLock { $0.advance(to: next, from: nonce, at: origin, realm: realm) }
    }
  }

  /// Whether a server's proof is not that of the request's digest. One of a body is not looked at.
  private func isWrong(
    _ proof: String, _ answered: AuthenticationChallenge, _ request: ResourceRequest, _ current: DigestSessions.Turn
  ) -> Bool {
    guard answered["qop"] == "auth", let count = answered["nc"].flatMap({ UInt32($0, radix: 16) }),
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
