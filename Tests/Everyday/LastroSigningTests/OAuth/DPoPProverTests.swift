// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("Proofs of possession", .timeLimit(.minutes(15)))
struct DPoPProverTests {
  private struct Claims: Decodable {
    var ath: String?
    var htm: String
    var htu: String
    var iat: Int
    var jti: String
    var nonce: String?
  }

  private static func claims(_ request: ResourceRequest) throws -> Claims {
    let part = try #require(request.fields["dpop"]?.split(separator: ".").dropFirst().first)
    let digits = part.replacing("-", with: "+").replacing("_", with: "/")
    let data = try #require(Data(base64Encoded: digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)))
    return try JSONDecoder().decode(Claims.self, from: data)
  }

  private static func prover() throws -> DPoPProver {
    try DPoPProver(key: .random(), origins: [Origin("https://api.example")], time: .at(1_700_000_000))
  }

  private static func stack(_ transport: ScriptedTransport, _ prover: DPoPProver) throws -> TransportNetworkStack {
    var configuration = StackConfiguration(interceptors: [
      try .apiKey(
        "hidden-token", header: "Authorization", prefix: "DPoP ", origins: [Origin("https://api.example")]), prover,
    ])
    configuration.signers = [prover]
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  @Test("A proof names the request and the token")
  func proof() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200))
    let stack = try Self.stack(transport, try Self.prover())
    _ = try await stack.fetch(.send(.post, "https://api.example/a?b=c", body: .raw("x")))
    _ = try await stack.fetch(.get("https://api.example/"))
    let requests = transport.requests.map(\.resourceRequest)
    let claims = try requests.map(Self.claims)
    #expect(claims[0].htm == "POST" && claims[0].htu == "https://api.example/a" && claims[0].iat == 1_700_000_000)
    #expect(claims[0].ath == Array(try MessageDigest(of: Data("hidden-token".utf8)).bytes).base64URL)
    #expect(claims[0].jti != claims[1].jti && claims[0].nonce == nil)
    #expect(requests.map { $0.fields["authorization"] } == ["DPoP hidden-token", "DPoP hidden-token"])
    #expect(requests[0].options.sensitiveHeaders.contains(try #require(HTTPField.Name("DPoP"))))
  }

  @Test("A nonce that an API asks for is sent, once more for a call, and later at once")
  func nonce() async throws {
    let challenge: HTTPFields = [
      .wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, try #require(HTTPField.Name("DPoP-Nonce")): "n1",
    ]
    let refusal = ScriptedTransport.Step.respond(status: .unauthorized, headers: challenge)
    let transport = ScriptedTransport([refusal, .respond(status: 200), .respond(status: 200), refusal])
    let stack = try Self.stack(transport, try Self.prover())
    _ = try await stack.fetch(.get("https://api.example/1"))
    _ = try await stack.fetch(.get("https://api.example/2"))
    // The same nonce again is no reason to repeat the request.
    await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.get("https://api.example/3")) }
    let nonces = try transport.requests.map { try Self.claims($0.resourceRequest).nonce }
    #expect(nonces == [nil, "n1", "n1", "n1"])
  }

  @Test(
    "A demand for a nonce is found in every challenge, as a token and as a string",
    arguments: [
      [#"DPoP error="use_dpop_nonce""#], ["DPoP error=use_dpop_nonce"],
      [#"Bearer realm="a""#, #"DPoP algs="ES256", error="use_dpop_nonce""#],
      [#"Bearer realm="a", DPoP error="use_dpop_nonce""#],
    ])
  func challenges(values: [String]) async throws {
    var headers: HTTPFields = [try #require(HTTPField.Name("DPoP-Nonce")): "n1"]
    for value in values { headers.append(HTTPField(name: .wwwAuthenticate, value: value)) }
    let transport = ScriptedTransport([.respond(status: .unauthorized, headers: headers), .respond(status: 200)])
    _ = try await Self.stack(transport, Self.prover()).fetch(.get("https://api.example/"))
    #expect(try transport.requests.map { try Self.claims($0.resourceRequest).nonce } == [nil, "n1"])
  }

  /// Returns a stack whose tokens are `token-1`, `token-2` and so on, and the numbers of the tokens that it asked for.
  private static func refreshing(
    _ transport: ScriptedTransport, _ prover: DPoPProver?, type: String = "DPoP"
  ) throws -> (stack: TransportNetworkStack, asked: EventRecorder<Void>) {
    let asked = EventRecorder<Void>()
    let authenticator = try BearerAuthenticator(origins: [Origin("https://api.example")]) { _ in
      asked.record(())
      return try AccessToken(Secret("token-\(asked.events.count)"), type: type)
    }
    var configuration = StackConfiguration(interceptors: [authenticator])
    if let prover {
      configuration.interceptors.append(prover)
      configuration.signers = [prover]
    }
    return (TransportNetworkStack(transport: transport, configuration: configuration), asked)
  }

  @Test("A refused token is refreshed, and a demand for a nonce does not refresh it")
  func refresh() async throws {
    let name = try #require(HTTPField.Name("DPoP-Nonce"))
    let ask = ScriptedTransport.Step.respond(
      status: .unauthorized, headers: [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, name: "n1"])
    let refusal = ScriptedTransport.Step.respond(
      status: .unauthorized, headers: [.wwwAuthenticate: #"DPoP error="invalid_token""#])
    let transport = ScriptedTransport([
      ask, .respond(status: 200), refusal, .respond(status: 200), refusal, refusal,
    ])
    let (stack, asked) = try Self.refreshing(transport, try Self.prover())
    _ = try await stack.fetch(.get("https://api.example/1"))
    #expect(asked.events.count == 1)
    _ = try await stack.fetch(.get("https://api.example/2"))
    #expect(asked.events.count == 2)
    // The second refusal of a call is final.
    await #expect(throws: HTTPFetchError<any Error>.self) { try await stack.fetch(.get("https://api.example/3")) }
    let sent = transport.requests.map { $0.resourceRequest.fields["authorization"] }
    #expect(sent == [1, 1, 1, 2, 2, 3].map { "DPoP token-\($0)" })
  }

  @Test("A token that is refused after a demand for a nonce, in the same call, is refreshed")
  func nonceThenRefusal() async throws {
    let name = try #require(HTTPField.Name("DPoP-Nonce"))
    let transport = ScriptedTransport([
      .respond(status: .unauthorized, headers: [.wwwAuthenticate: "DPoP error=use_dpop_nonce", name: "n1"]),
      .respond(status: .unauthorized, headers: [.wwwAuthenticate: #"DPoP error="invalid_token""#]),
      .respond(status: 200),
    ])
    let (stack, asked) = try Self.refreshing(transport, try Self.prover())
    _ = try await stack.fetch(.get("https://api.example/"))
    #expect(asked.events.count == 2)
    let sent = transport.requests.map { $0.resourceRequest.fields["authorization"] }
    #expect(sent == ["DPoP token-1", "DPoP token-1", "DPoP token-2"])
  }

  @Test("A token is sent with the scheme of its type, and a bound one not without a proof")
  func types() async throws {
    let transport = ScriptedTransport(repeatingLast: .respond(status: 200))
    _ = try await Self.refreshing(transport, try Self.prover(), type: "bearer").stack
      .fetch(.get("https://api.example/"))
    let sent = try #require(transport.requests.first?.resourceRequest)
    #expect(sent.fields["authorization"] == "Bearer token-1" && sent.fields["dpop"] != nil)
    let error = try await #require(throws: HTTPFetchError<any Error>.self) {
      try await Self.refreshing(transport, nil).stack.fetch(.get("https://api.example/"))
    }
    #expect(error.code == .invalidHeader && error.hint != nil && !"\(error)".contains("token-1"))
    #expect(transport.requests.count == 1)
  }

  @Test("Calls at the same time all get the nonce that the server asks for")
  func concurrentNonces() async throws {
    let name = try #require(HTTPField.Name("DPoP-Nonce"))
    let transport = ScriptedTransport { (request, _) throws(TransportError) in
      let nonce = try? Self.claims(request.resourceRequest).nonce
      let challenge: HTTPFields = [.wwwAuthenticate: #"DPoP error="use_dpop_nonce""#, name: "n1"]
      return TransferResponse(
        head: HTTPResponse(status: nonce == "n1" ? .ok : .unauthorized, headerFields: nonce == "n1" ? [:] : challenge),
        body: ResponseBody(Data()))
    }
    let stack = try Self.stack(transport, try Self.prover())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<20 { group.addTask { _ = try await stack.fetch(.get("https://api.example/\(number)")) } }
      try await group.waitForAll()
    }
    #expect((21...40).contains(transport.requests.count))
  }

  @Test("A token endpoint that asks for a nonce gets its form once more, and no other 400 does that")
  func endpoint() async throws {
    let name = try #require(HTTPField.Name("DPoP-Nonce"))
    let ask = ScriptedTransport.Step.respond(
      status: .badRequest, headers: [name: "n1"], body: #"{"error": "use_dpop_nonce"}"#)
    let other = ScriptedTransport.Step.respond(
      status: .badRequest, headers: [name: "n2"], body: #"{"error": "invalid_scope"}"#)
    let token = ScriptedTransport.Step.respond(
      status: .ok, body: #"{"access_token": "t", "token_type": "DPoP", "expires_in": 60}"#)
    let transport = ScriptedTransport([ask, token, other])
    let prover = try Self.prover()
    var configuration = StackConfiguration(interceptors: [prover, .retry])
    configuration.signers = [prover]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let client = try OAuth2Client(tokenURL: "https://api.example/token", id: "shop", authentication: .none)
    let source = try client.clientCredentials(stack: stack)
    #expect(try await source.token(replacing: nil).value.reveal() == "t")
    await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
    let nonces = try transport.requests.map { try Self.claims($0.resourceRequest).nonce }
    #expect(nonces == [nil, "n1", "n1"])
  }

  @Test("A nonce that cannot be sent is ignored", arguments: ["", "a b", "a\"b", String(repeating: "a", count: 2000)])
  func hostileNonce(nonce: String) async throws {
    let headers: HTTPFields = [try #require(HTTPField.Name("DPoP-Nonce")): nonce]
    let transport = ScriptedTransport(repeatingLast: .respond(status: .ok, headers: headers))
    let stack = try Self.stack(transport, try Self.prover())
    for _ in 0..<2 { _ = try await stack.fetch(.get("https://api.example/")) }
    #expect(try Self.claims(#require(transport.requests.last).resourceRequest).nonce == nil)
  }

  @Test("Each kind of key has its public half in the proof, and a shared secret has none")
  func keys() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    func text(_ key: SigningKey) throws -> String {
      String(decoding: try encoder.encode(JSONWebKey(of: key)), as: UTF8.self)
    }
    #expect(
      try text(SigningKey(pem: Secret(RFC9421.ed25519Private)))
        == #"{"crv":"Ed25519","kty":"OKP","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}"#)
    #expect(
      try text(SigningKey(pem: Secret(RFC9421.p256Private)))
        == #"{"crv":"P-256","kty":"EC","x":"qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA","#
        + #""y":"Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0"}"#)
    #expect(
      try text(SigningKey(pem: Secret(RFC9421.rsaPrivate))).hasPrefix(#"{"e":"AQAB","kty":"RSA","n":"r4tmm3r20Wd_"#))
    #expect(try JSONWebKey(of: SigningKey(secret: RFC9421.secret)) == nil)
  }

  @Test("Invalid settings are refused with a hint")
  func settings() throws {
    let key = try SigningKey.random()
    for (key, origins) in [
      (key, []), (key, ["http://far.example"]), (try SigningKey(secret: RFC9421.secret), ["https://api.example"]),
    ] as [(SigningKey, [String])] {
      let error = #expect(throws: ConfigurationError.self) {
        try DPoPProver(key: key, origins: origins.map { try Origin($0) })
      }
      #expect(error?.hint != nil)
    }
  }
}
