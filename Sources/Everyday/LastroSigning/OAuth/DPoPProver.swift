// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import Lastro
internal import LastroSupport

/// Proves the possession of a key with every request (DPoP, RFC 9449), so that an access token that is bound to the key
/// is of no use to a thief.
///
/// ```swift
/// let prover = try DPoPProver(key: .random(), origins: [login, api])
/// configuration.signers = [prover]
/// configuration.interceptors = [authenticator, prover, .retry]  // repeats requests that need the server's nonce
/// ```
///
/// Name the origins of the token endpoint and of the API. The proof of a request with an access token has the token's
/// hash. A `BearerAuthenticator` sends a token with the scheme of its type: `DPoP`, or `Bearer` if the token endpoint did
/// not bind it to the key. The prover remembers the latest `DPoP-Nonce` of each origin. If a server refuses a request
/// because the nonce is missing or old, the request is repeated with the new one, as the server did not act; after the
/// fourth attempt of a call, the refusal is final.
public struct DPoPProver: RequestSigner, HTTPResourceInterceptor, StandardSigner, PromptInterceptor,
  ExplainableInterceptor
{
  private struct Header: Encodable {
    var alg: String
    var jwk: JSONWebKey
    var typ = "dpop+jwt"
  }

  private struct Claims: Codable {
    var ath: String?
    var htm: String
    var htu: String
    var iat: Int64
    var jti: String
    var nonce: String?
  }

  private static let maximumNonce = 1024
  /// The last attempt of a call that is repeated for another nonce, which a server may replace at any time.
  private static let maximumAttempts = 3

  /// The origins whose requests have a proof.
  public let origins: [Origin]
  private let key: SigningKey
  private let publicKey: JSONWebKey
  private let time: TimeSource
  /// The latest nonce of each origin.
  private let nonces = Lock<[Origin: String]>([:])

  /// Makes a prover.
  ///
  /// - Parameters:
  ///   - key: the key to prove, such as ``SigningKey/random()``. A new key needs new tokens.
  ///   - origins: the origins whose requests have a proof; at least one, `https` or on this machine.
  ///   - time: the clock. Default: the system's.
  /// - Throws: `ConfigurationError` if the key is a shared secret, or there is no origin or an insecure one.
  public init(key: SigningKey, origins: [Origin], time: TimeSource = .continuous) throws(ConfigurationError) {
    guard !origins.isEmpty else {
      throw ConfigurationError(
        "the list of origins whose requests have a proof is empty", hint: "name the token endpoint's and the API's")
    }
    if let origin = origins.first(where: { !$0.keepsSecrets }) {
      throw ConfigurationError("tokens would go to \(origin) without encryption", hint: "use https")
    }
    guard let publicKey = JSONWebKey(of: key) else {
      throw ConfigurationError(
        "a shared secret cannot prove its possession", hint: "use a key of P-256, Ed25519 or RSA")
    }
    (self.key, self.publicKey, self.origins, self.time) = (key, publicKey, origins, time)
  }

  package var signature: String { "DPoPProver, with \(key.algorithm.tokenName)" }
  package var usesBodyDigest: Bool { false }

  /// Adds a proof to a request.
  ///
  /// - Throws: `ConfigurationError` if OpenSSL does not have the algorithm, or has no memory.
  public func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    var request = request
    var hash: String?
    if let token = request.head.headerFields[.authorization].flatMap(Self.token) {
      hash = try MessageDigest(of: Array(token.utf8)).bytes.base64URL
    }
    let target = request.url.prefix { $0 != "?" }
    let proof = try SignedToken.text(
      header: Header(alg: key.algorithm.tokenName, jwk: publicKey),
      claims: Claims(
        ath: hash, htm: request.head.method.rawValue, htu: String(target), iat: time.sinceEpoch().components.seconds,
        jti: RandomText.make(), nonce: Origin(request.head).flatMap(nonce)),
      key: key)
    try request.setHeader("DPoP", Secret(proof))
    return request
  }

  /// Returns the token after `Bearer` or `DPoP`; `nil` for credentials of another scheme.
  private static func token(_ authorization: String) -> String? {
    let parts = authorization.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, ["bearer", "dpop"].contains(parts[0].lowercased()) else { return nil }
    return String(parts[1])
  }

  // MARK: nonces

  private func nonce(of origin: Origin) -> String? { nonces.withLock { $0[origin] } }

  /// Remembers the nonce of a response, and returns it.
  private func remember(_ response: ResourceResponse?, to request: ResourceRequest?) -> String? {
    guard let origin = request.flatMap({ Origin($0.head) }), origins.contains(origin),
      let nonce = response?.headers["DPoP-Nonce"], (1...Self.maximumNonce).contains(nonce.utf8.count),
      nonce.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") })
    else { return nil }
    nonces.withLock { $0[origin] = nonce }
    return nonce
  }

  /// Returns the nonce in the proof of a request. Another call may have remembered a newer one since.
  private func sentNonce(_ request: ResourceRequest?) -> String? {
    let proof = request.flatMap { RawHeaders($0.head.headerFields)["DPoP"] } ?? ""
    let parts = proof.split(separator: ".")
    guard parts.count == 3, let claims = [UInt8](base64URL: parts[1].utf8) else { return nil }
    return (try? JSONDecoder().decode(Claims.self, from: Data(claims)))?.nonce
  }

  package var explanation: String { "repeats a request that lacks the nonce of its server" }

  /// Returns `nil`, for undecided, after a status by which the origins ask for a nonce: the action depends on the
  /// response.
  package func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    let isAsked = Origin(request.head).map(origins.contains) ?? false
    return isAsked && [400, 401].contains(error.statusCode?.code ?? 0) ? nil : Retry.Action.none
  }

  /// Remembers the nonce for the next request.
  public func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    _ = remember(response, to: request)
  }

  /// Remembers the nonce, and asks for another attempt if the server refused the request for lack of it.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    guard let nonce = remember(response, to: request), nonce != sentNonce(request), let response,
      context.attempt <= Self.maximumAttempts
    else { return .none }
    // An API asks in its challenge, a token endpoint in the body (RFC 9449 §8, §9).
    if response.demandsProofNonce { return .retry }
    guard response.status == .badRequest, let body else { return .none }
    return String(decoding: body.prefix(4096), as: UTF8.self).contains("\"use_dpop_nonce\"") ? .retry : .none
  }
}
