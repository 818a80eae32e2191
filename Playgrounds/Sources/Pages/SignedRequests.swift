// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroSigning
import LastroTesting

private struct Booking: Decodable, Sendable {
  var id: String
}

private struct Role: Sendable {
  func credentials() async throws -> AWSCredentials {
    try AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "hidden-key", sessionToken: "hidden-token")
  }
}

private func keys(_ environment: [String: String]) throws -> (SigningKey, SigningKey) {
  // sample: keys
  let key = try SigningKey(pem: Secret(environment["SIGNING_KEY"] ?? ""))
  let legacy = try SigningKey(pem: Secret(environment["RSA_KEY"] ?? ""), algorithm: .rsaPKCS1)
  // end
  return (key, legacy)
}

private func aws(_ role: Role, _ configuration: inout StackConfiguration) throws {
  // sample: aws
  let api = try Origin("https://abc123.execute-api.eu-west-1.amazonaws.com")
  let signer = try AWSSigner(service: "execute-api", region: "eu-west-1", origins: [api]) {
    try await role.credentials()
  }
  configuration.signers = [signer]
  configuration.interceptors = [signer, .retry]
  // end
}

private func message(_ key: SigningKey, _ configuration: inout StackConfiguration) throws {
  // sample: message
  let signer = try MessageSigner(
    key, keyID: "shop-2026", covering: [.method, .targetURI, .contentDigest, "content-type"],
    origins: [Origin("https://api.bank.example")], lifetime: .seconds(60), tag: "payments")
  configuration.signers = [signer]
  // end
}

private func payments(_ bankKey: String) throws -> (
  ModelDecoding<[Booking], Data, ResourceResponse>, ErrorDecoding<TextAPIError, Data, ResourceResponse>
) {
  // sample: verify
  let bank = try VerifyingKey(pem: bankKey)
  let verifier = try MessageVerifier(keys: ["bank-2026": bank], maximumAge: .seconds(120))
  let payments = ModelDecoding<[Booking], Data, ResourceResponse>.json().verified(by: verifier)
  let errors = ErrorDecoding<TextAPIError, Data, ResourceResponse>.text.verified(by: verifier)
  // end
  return (payments, errors)
}

private func webhook(_ body: Data, _ fields: [String: String], _ secret: Secret, _ earlierSecret: Secret) throws
  -> String?
{
  // sample: webhook
  let verifier = try WebhookVerifier(.standardWebhooks, secrets: [secret, earlierSecret])
  let id = try verifier.verify(body, headers: RawHeaders(fields))
  // end
  return id
}

private func oauth(_ key: SigningKey, _ url: String, _ configuration: inout StackConfiguration) throws {
  // sample: assertion
  let client = try OAuth2Client(tokenURL: url, id: "shop", authentication: .none)
  let tokens = try client.clientCredentials(scope: "read")
  configuration.interceptors = [
    try BearerAuthenticator(source: tokens, origins: [Origin("https://api.example")]),
    try ClientAssertion(clientID: "shop", key: key, keyID: "k1", tokenURL: url), .retry,
  ]
  // end
  // sample: dpop
  let prover = try DPoPProver(
    key: .random(), origins: [Origin("https://login.example"), Origin("https://api.example")])
  configuration.signers = [prover]
  configuration.interceptors.append(prover)
  // end
}

/// A key that exists for this page alone.
private let pageKey = """
  -----BEGIN PRIVATE KEY-----
  MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
  -----END PRIVATE KEY-----
  """
private let pagePublicKey = """
  -----BEGIN PUBLIC KEY-----
  MCowBQYDK2VwAyEAJrQLj5P/89iXES9+vFgrIy29clF9CC/oPPsw3c5D0bs=
  -----END PUBLIC KEY-----
  """

extension Page {
  static let signedRequests = Page("SignedRequests") { stage in
    _ = try? keys([:])
    let key = try SigningKey(pem: Secret(pageKey))
    _ = try payments(pagePublicKey)
    let transport = ScriptedTransport(
      repeatingLast: .respond(status: .ok, body: #"{"access_token": "a1", "token_type": "DPoP", "expires_in": 60}"#))
    func sent(_ url: String, _ configuration: StackConfiguration) async throws -> [String: String] {
      let stack = TransportNetworkStack(transport: transport, configuration: configuration)
      let response = try await stack.fetch(.get(url)).response
      say("\(response.ledger)")
      let fields = transport.requests.last?.head.headerFields ?? [:]
      return Dictionary(fields.map { ($0.name.rawName, $0.value) }) { first, _ in first }
    }
    var configuration = StackConfiguration()
    try aws(Role(), &configuration)
    let amazon = try await sent("https://abc123.execute-api.eu-west-1.amazonaws.com/a", configuration)
    stage.check("the request has AWS's signature", amazon["Authorization"]?.hasPrefix("AWS4-HMAC-SHA256 ") == true)
    stage.check("the request has the session token", amazon["X-Amz-Security-Token"] == "hidden-token")
    configuration = StackConfiguration()
    try message(key, &configuration)
    let request = try ResourceRequest(url: "https://api.bank.example/", headers: ["Content-Type": "text/plain"])
    _ = try await TransportNetworkStack(transport: transport, configuration: configuration).fetch(.raw(request))
    let input = transport.requests.last?.head.headerFields.first { $0.name.canonicalName == "signature-input" }?.value
    stage.check("the request has a message signature", input?.hasPrefix("sig1=(\"@method\"") == true)
    configuration = StackConfiguration()
    try oauth(key, "https://login.example/token", &configuration)
    let bound = try await sent("https://api.example/", configuration)
    stage.check("the token is sent with a proof", bound["Authorization"] == "DPoP a1" && bound["DPoP"] != nil)
    let refusal = try? webhook(
      Data(), [:], "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    stage.check("a webhook without a signature is refused", refusal == nil)
  }
}
