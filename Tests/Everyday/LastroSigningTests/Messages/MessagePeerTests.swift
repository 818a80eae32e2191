// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroCurl
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("Signatures of messages and tokens beside other libraries", .peers(.signing), .timeLimit(.minutes(15)))
struct MessagePeerTests {
  private struct Kind: Sendable, CustomTestStringConvertible {
    var name: String
    var privateKey: String
    var publicKey: String
    /// The key of another signer.
    var otherKey: String
    var testDescription: String { name }

    func signing() throws -> SigningKey {
      name == "hmac" ? try SigningKey(secret: Array(privateKey.utf8)) : try SigningKey(pem: Secret(privateKey))
    }

    func verifying(_ key: String) throws -> VerifyingKey {
      name == "hmac" ? try VerifyingKey(secret: Array(key.utf8)) : try VerifyingKey(pem: key)
    }

    /// The key as the peer's field has it.
    func field(_ key: String) -> String { "\(name) \(Data(key.utf8).base64EncodedString())" }
  }

  private static let secret = "a secret of some length for tests"

  private static let kinds = [
    Kind(
      name: "ed25519", privateKey: RFC9421.ed25519Private, publicKey: RFC9421.ed25519Public,
      otherKey: RFC9421.otherEd25519Public),
    Kind(
      name: "p256", privateKey: RFC9421.p256Private, publicKey: RFC9421.p256Public, otherKey: RFC9421.otherP256Public),
    Kind(name: "rsa", privateKey: RFC9421.rsa1Private, publicKey: RFC9421.rsa1Public, otherKey: RFC9421.rsaPublic),
    Kind(name: "hmac", privateKey: secret, publicKey: secret, otherKey: String(secret.reversed())),
  ]

  @Test("http-message-signatures accepts signed requests, and refuses one with another key", arguments: kinds)
  private func requests(kind: Kind) async throws {
    var configuration = StackConfiguration.patient
    configuration.signers = [
      try MessageSigner(
        kind.signing(), keyID: "shop",
        covering: [.method, .authority, .path, .query, .contentDigest, "content-type"],
        origins: [Origin(Librarian.url("/"))], lifetime: .seconds(60))
    ]
    let stack = try Librarian.stack(configuration)
    let url = try Librarian.url("/message?a=b%20c&d")
    let answer = try await stack.fetch(
      .send(.post, url, headers: ["X-Key": kind.field(kind.publicKey)], body: .raw("hello")))
    #expect(answer.response.status == .ok)
    let error = try await #require(throws: HTTPFetchError<any Error>.self) {
      try await stack.fetch(.send(.post, url, headers: ["X-Key": kind.field(kind.otherKey)], body: .raw("hello")))
    }
    #expect(error.statusCode == .unauthorized)
    await stack.shutDown(cancelling: true)
  }

  @Test("Responses that http-message-signatures signs are accepted, and by no other key", arguments: kinds)
  private func responses(kind: Kind) async throws {
    let stack = try Librarian.stack()
    let answer = try await stack.fetch(
      .get(Librarian.url("/signed"), headers: ["X-Key": kind.field(kind.privateKey)]))
    let verifier = try MessageVerifier(keys: ["peer": kind.verifying(kind.publicKey)])
    #expect(try verifier.verify(answer.response, body: answer.value) == "peer")
    #expect(throws: SignatureError.self) { try verifier.verify(answer.response, body: answer.value + [0]) }
    let other = try MessageVerifier(keys: ["peer": kind.verifying(kind.otherKey)])
    let error = #expect(throws: SignatureError.self) { try other.verify(answer.response, body: answer.value) }
    #expect(error?.code == .mismatch)
    await stack.shutDown(cancelling: true)
  }

  @Test(
    "joserfc accepts client assertions of every algorithm, and refuses one with another key",
    arguments: SignatureAlgorithm.allCases)
  func assertions(algorithm: SignatureAlgorithm) async throws {
    let key: SigningKey
    let (type, publicKey, otherKey): (String, String, String)
    switch algorithm {
    case .ed25519:
      key = try SigningKey(pem: Secret(RFC9421.ed25519Private))
      (type, publicKey, otherKey) = ("OKP", RFC9421.ed25519Public, RFC9421.otherEd25519Public)
    case .ecdsaP256:
      key = try SigningKey(pem: Secret(RFC9421.p256Private))
      (type, publicKey, otherKey) = ("EC", RFC9421.p256Public, RFC9421.otherP256Public)
    case .hmacSHA256:
      key = try SigningKey(secret: Array(Self.secret.utf8))
      (type, publicKey, otherKey) = ("oct", Self.secret, String(Self.secret.reversed()))
    case .rsaPSS512, .rsaPSS256, .rsaPKCS1:
      key = try SigningKey(pem: Secret(RFC9421.rsa1Private), algorithm: algorithm)
      (type, publicKey, otherKey) = ("RSA", RFC9421.rsa1Public, RFC9421.rsaPublic)
    }
    func token(_ text: String) async throws -> AccessToken {
      let text = Data(text.utf8).base64EncodedString().percentEncoded(keeping: .unreserved)
      let url = try Librarian.url("/token?key=\(text)&kty=\(type)&alg=\(algorithm.tokenName)")
      var configuration = StackConfiguration.patient
      configuration.interceptors = [try ClientAssertion(clientID: "shop", key: key, tokenURL: url)]
      let stack = try Librarian.stack(configuration)
      let client = try OAuth2Client(tokenURL: url, id: "shop", authentication: .none)
      let result = await Result { () async throws in
        try await client.clientCredentials(stack: stack).token(replacing: nil)
      }
      await stack.shutDown(cancelling: true)
      return try result.get()
    }
    #expect(try await token(publicKey).value.reveal().utf8.count == 22)
    let error = try await #require(throws: OAuth2Error.self) { try await token(otherKey) }
    guard case .refused(.unauthorized, "invalid_client", _) = error else { throw error }
  }

  @Test("joserfc accepts proofs of possession, and gets its nonce after it has asked for it")
  func proofs() async throws {
    for key in [
      try SigningKey.random(), try SigningKey(pem: Secret(RFC9421.ed25519Private)),
      try SigningKey(pem: Secret(RFC9421.rsa1Private)),
    ] {
      let origin = try Origin(Librarian.url("/"))
      let prover = try DPoPProver(key: key, origins: [origin])
      var configuration = StackConfiguration.patient
      configuration.signers = [prover]
      configuration.interceptors = [
        try .apiKey("hidden-token", header: "Authorization", prefix: "DPoP ", origins: [origin]), prover,
      ]
      let stack = try Librarian.stack(configuration)
      let first = try await stack.fetch(.get(Librarian.url("/proof?a=b")))
      let second = try await stack.fetch(.get(Librarian.url("/proof")))
      #expect(first.response.ledger.attempts.count == 2 && second.response.ledger.attempts.count == 1)
      #expect(!first.response.ledger.json().contains("hidden"))
      await stack.shutDown(cancelling: true)
    }
  }

  @Test(
    "Webhooks that the libraries of Standard Webhooks and Stripe sign are accepted, and refused when they are changed",
    arguments: [
      ("/webhook", .standardWebhooks, "msg_1", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
      ("/stripe", .stripe, nil, "whsec_a_secret_of_stripe"),
    ] as [(String, WebhookVerifier.Scheme, String?, String)])
  func webhooks(path: String, scheme: WebhookVerifier.Scheme, id: String?, secret: String) async throws {
    let stack = try Librarian.stack()
    let body = #"{"type": "order.paid", "é": 1}"#
    let answer = try await stack.fetch(
      .send(.post, Librarian.url(path), headers: ["X-Secret": secret], body: .raw(body), as: [String: String].self))
    let verifier = try WebhookVerifier(scheme, secrets: [Secret(secret)])
    #expect(try verifier.verify(Data(body.utf8), headers: RawHeaders(answer.value)) == id)
    #expect(throws: SignatureError.self) { try verifier.verify(Data(), headers: RawHeaders(answer.value)) }
    await stack.shutDown(cancelling: true)
  }
}
