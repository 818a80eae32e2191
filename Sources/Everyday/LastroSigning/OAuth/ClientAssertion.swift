// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
public import Lastro

/// Authenticates an OAuth 2 client to its token endpoint by a signed token (`private_key_jwt`, RFC 7523 §2.2, OpenID
/// Connect Core §9). With a shared secret as the key, it is `client_secret_jwt`.
///
/// ```swift
/// let client = try OAuth2Client(tokenURL: url, id: "shop", authentication: .none)
/// let tokens = try client.clientCredentials(scope: "read")
/// configuration.interceptors = [
///   try BearerAuthenticator(source: tokens, origins: [origin]),
///   try ClientAssertion(clientID: "shop", key: key, tokenURL: url), .retry,
/// ]
/// ```
///
/// Put it into the stack that sends the token requests. It adds `client_assertion` to the form of each POST to the token
/// URL, with a new identifier and time, and leaves all other requests unchanged, such as those for the revocation of a
/// token. Make the `OAuth2Client` with the authentication `.none`: a secret would be sent beside the assertion, and servers
/// refuse a request with two authentications (RFC 6749 §2.3).
public struct ClientAssertion: HTTPResourceInterceptor, PromptInterceptor, ExplainableInterceptor {
  private struct Header: Encodable {
    var alg: String
    var kid: String?
    var typ = "JWT"
  }

  private struct Claims: Encodable {
    var aud: String
    var exp: Int64
    var iat: Int64
    var iss: String
    var jti: String
    var sub: String
  }

  private let clientID: String
  private let key: SigningKey
  private let keyID: String?
  private let target: ResourceRequest
  private let audience: String
  private let lifetime: Duration
  private let time: TimeSource

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - clientID: the client identifier, which becomes `iss` and `sub`; not empty.
  ///   - key: the client's key. For RSA, most servers expect ``SignatureAlgorithm/rsaPKCS1`` (RS256) or
  ///     ``SignatureAlgorithm/rsaPSS256``.
  ///   - keyID: the identifier of the key, sent as `kid`. Default none.
  ///   - tokenURL: the URL of the token endpoint, as the `OAuth2Client` has it; `https` or loopback.
  ///   - audience: the `aud` of the token. Default: the token URL. Some servers expect their issuer URL.
  ///   - lifetime: the time until the token expires: 1 second to 1 hour. Default 1 minute.
  ///   - time: the clock. Default: the system's.
  /// - Throws: `ConfigurationError` if one of these requirements is violated.
  public init(
    clientID: String, key: SigningKey, keyID: String? = nil, tokenURL: String, audience: String? = nil,
    lifetime: Duration = .seconds(60), time: TimeSource = .continuous
  ) throws(ConfigurationError) {
    guard !clientID.isEmpty else {
      throw ConfigurationError("the client id is empty", hint: "give the id under which the client is registered")
    }
    guard let target = try? ResourceRequest(method: .post, url: tokenURL), let origin = Origin(target.head),
      origin.keepsSecrets
    else {
      throw ConfigurationError(
        "the token URL is not an absolute URL of https or of this machine", hint: "write https://HOST/PATH")
    }
    guard lifetime >= .seconds(1), lifetime <= .seconds(3600) else {
      throw ConfigurationError(
        "the lifetime of a client assertion is \(lifetime.brief), outside the range from 1 s to 1 h",
        hint: "use a minute: a new one is made for each request")
    }
    (self.clientID, self.key, self.keyID, self.target) = (clientID, key, keyID, target)
    (self.audience, self.lifetime, self.time) = (audience ?? tokenURL, lifetime, time)
  }

  package var explanation: String {
    "adds a client assertion, signed with \(key.algorithm.tokenName), to token requests"
  }

  /// Adds the token to a form that is posted to the token URL.
  ///
  /// - Throws: an error with code `invalid_body` if such a request has another body than a form in memory.
  public func adapt(_ request: inout ResourceRequest, context: AttemptContext) async throws {
    guard request.head.method == .post, request.url == target.url else { return }
    guard case .bytes(let data) = request.body.source,
      request.body.contentType == "application/x-www-form-urlencoded"
    else {
      throw TransportError.refused(
        .invalidBody, "a token request without a form as its body cannot have a client assertion",
        hint: "send a form in memory, as OAuth 2 has it")
    }
    let now = time.sinceEpoch().components.seconds
    let token = try SignedToken.text(
      header: Header(alg: key.algorithm.tokenName, kid: keyID),
      claims: Claims(
        aud: audience, exp: now + lifetime.components.seconds, iat: now, iss: clientID, jti: RandomText.make(),
        sub: clientID),
      key: key)
    let kept = data.split(separator: UInt8(ascii: "&")).filter { !$0.starts(with: "client_assertion".utf8) }
    let added = [
      "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer",
      "client_assertion=\(token)",
    ]
    let form = (kept.map { Data($0) } + added.map { Data($0.utf8) }).joined(separator: [UInt8(ascii: "&")])
    request.body = RequestBody(
      source: .bytes(Data(form)), contentType: request.body.contentType,
      secrets: request.body.secrets + [Secret(token)])
  }
}
