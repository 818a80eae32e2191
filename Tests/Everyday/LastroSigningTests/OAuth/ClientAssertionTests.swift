// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroSigning

@Suite("Client assertions", .timeLimit(.minutes(15)))
struct ClientAssertionTests {
  private static let url = "https://login.example/token"

  private static func assertion() throws -> ClientAssertion {
    try ClientAssertion(
      clientID: "shop", key: SigningKey(pem: Secret(RFC9421.ed25519Private)), keyID: "k1", tokenURL: url,
      time: .at(1_700_000_000))
  }

  private static func form(_ request: ResourceRequest) -> [Substring] {
    guard case .bytes(let data) = request.body.source else { return [] }
    return String(decoding: data, as: UTF8.self).split(separator: "&").map { $0 }
  }

  @Test("Every token request has a new assertion, and other requests have none")
  func requests() async throws {
    let token = ScriptedTransport.Step.respond(status: .ok, body: #"{"access_token": "t", "token_type": "Bearer"}"#)
    let transport = ScriptedTransport(repeatingLast: token)
    let stack = TransportNetworkStack(
      transport: transport, configuration: StackConfiguration(interceptors: [try Self.assertion()]))
    let client = try OAuth2Client(tokenURL: Self.url, id: "shop", authentication: .none)
    let source = try client.clientCredentials(scope: "read", stack: stack)
    for _ in 0..<2 { _ = try await source.token(replacing: nil) }
    _ = try await stack.fetch(.get("https://login.example/other"))
    let forms = transport.requests.map { Self.form($0.resourceRequest) }
    let tokens = forms.map { $0.first { $0.hasPrefix("client_assertion=") } }
    #expect(tokens[0] != nil && tokens[0] != tokens[1] && tokens[2] == nil)
    #expect(forms[0].contains("grant_type=client_credentials") && forms[0].contains("client_id=shop"))
    let parts = try #require(tokens[0]?.dropFirst("client_assertion=".count).split(separator: "."))
    let claims = try #require(Data(base64Encoded: padded(parts[1]))).map { $0 }
    let text = String(decoding: claims, as: UTF8.self)
    #expect(
      text.hasPrefix(#"{"aud":"https://login.example/token","exp":1700000060,"iat":1700000000,"iss":"shop","jti":""#))
    #expect(
      String(decoding: try #require(Data(base64Encoded: padded(parts[0]))), as: UTF8.self)
        == #"{"alg":"EdDSA","kid":"k1","typ":"JWT"}"#)
    let secrets = transport.requests[0].resourceRequest.options.secrets.map { $0.reveal() }
    #expect(secrets.contains(parts.joined(separator: ".")))
  }

  private func padded(_ part: Substring) -> String {
    let digits = part.replacing("-", with: "+").replacing("_", with: "/")
    return digits + String(repeating: "=", count: (4 - digits.count % 4) % 4)
  }

  @Test("An assertion replaces an earlier one, and a token request without a form is refused")
  func bodies() async throws {
    let assertion = try Self.assertion()
    var request = try ResourceRequest(method: .post, url: Self.url, body: .form(["a": "b"]))
    for _ in 0..<2 { try await assertion.adapt(&request, context: AttemptContext()) }
    #expect(Self.form(request).count == 3 && Self.form(request).first == "a=b")
    var other = try ResourceRequest(method: .post, url: Self.url, body: .raw("{}"))
    await #expect(throws: TransportError.self) { try await assertion.adapt(&other, context: AttemptContext()) }
  }

  @Test("Invalid settings are refused with a hint")
  func settings() throws {
    let key = try SigningKey.random()
    for (id, url, lifetime) in [
      ("", Self.url, Duration.seconds(60)), ("a", "http://far.example/", .seconds(60)), ("a", "nothing", .seconds(60)),
      ("a", Self.url, .zero), ("a", Self.url, .seconds(3601)),
    ] {
      let error = #expect(throws: ConfigurationError.self) {
        try ClientAssertion(clientID: id, key: key, tokenURL: url, lifetime: lifetime)
      }
      #expect(error?.hint != nil)
    }
  }
}
