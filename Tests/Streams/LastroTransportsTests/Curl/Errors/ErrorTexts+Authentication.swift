// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroTesting
import Testing

@testable import Lastro

extension ErrorTexts {
  static func credentials() throws -> Self {
    var texts = Self()
    let origins = [try Origin("https://api.example")]
    let insecure = [try Origin("http://api.example")]
    let source = CustomAccessTokenSource { _ in try AccessToken("t") }
    func key(_ key: Secret, _ placement: APIKeyAuthenticator.Placement) -> () throws -> Any {
      { try APIKeyAuthenticator(key, in: placement, origins: origins) }
    }
    texts.provoke(
      { try BasicAuthenticator(user: "u", password: "p", origins: []) },
      { try BasicAuthenticator(user: "u", password: "p", origins: insecure) },
      { try BasicAuthenticator(user: "u:", password: "p", origins: origins) },
      { try BasicAuthenticator(user: "u\n", password: "p", origins: origins) },
      { try BasicAuthenticator(user: "u", password: "p\n", origins: origins) },
      { try DigestAuthenticator(user: "u", password: "p\n", origins: origins) }, key("", .queryItem("key")),
      key(" k", .queryItem("key")), key("k", .header("a b")), key("k", .header("Host")),
      key("k", .header("Authorization", prefix: " Token")), key("k", .queryItem("")), { try AccessToken("") },
      { try AccessToken("a b") }, { try AccessToken("t", expiresIn: .seconds(-1)) },
      { try AccessToken("t", type: "mac") },
      { try BearerAuthenticator(source: source, origins: origins, leeway: .seconds(-1)) },
      { try BearerAuthenticator(source: source, origins: origins, refreshTimeout: .zero) },
      { try BearerAuthenticator.RefreshWindow(count: 0, per: .seconds(1)) })
    return texts
  }

  static func tokens() throws -> Self {
    var texts = Self()
    let url = "https://id.example/token"
    func client(_ url: String, _ id: String = "id", _ secret: Secret = "s") -> () throws -> Any {
      { try OAuth2Client(tokenURL: url, id: id, authentication: .basic(secret)) }
    }
    let good = try OAuth2Client(tokenURL: url, id: "id", authentication: .none)
    let stack = TransportNetworkStack(transport: ScriptedTransport())
    func parameter(_ name: String) -> () throws -> Any {
      { try OAuth2TokenRequest.check([(name, "v")]) }
    }
    func answer(_ text: String) -> () throws -> Any {
      { try OAuth2TokenAnswer(Data(text.utf8))?.token(scope: nil) as Any }
    }
    texts.provoke(
      client("id.example"), client("http://id.example"), client(url, ""), client(url, "id", ""),
      { try OAuth2RefreshToken(client: good, refreshToken: "", stack: stack) }, parameter(""), parameter("scope"),
      answer("{}"), answer(#"{"access_token": "t"}"#), answer(#"{"access_token": "t", "token_type": "mac"}"#))
    let fetch = HTTPFetchError<any Error>(.transport(.shutDownForTests), request: "POST \(url)")
    let refusals = ["invalid_client", "invalid_grant", "unauthorized_client", "invalid_scope"].map {
      OAuth2Error.refused(OAuth2Error.Refusal(error: $0, errorDescription: "no"))
    }
    let errors: [OAuth2Error] =
      refusals + [
        .invalidAnswer("its body is not a JSON object"), .unsupportedTokenType("mac"), .noRefreshToken, .fetch(fetch),
      ]
    for error in errors {
      texts.add(error)
      texts.add(error.failure)
    }
    for error in [AccessTokenError.refreshTimedOut(.seconds(30)), .excessiveRefresh(.standard)] {
      texts.add(error)
      texts.add(error.failure)
    }
    for algorithm in [HashAlgorithm.md5, .sha256] { texts.add(HashingError(algorithm)) }
    return texts
  }

  static func signing() async throws -> Self {
    var texts = Self()
    let file = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path()
    try Data([1, 2]).write(to: URL(filePath: file))
    defer { try? FileManager.default.removeItem(atPath: file) }
    func digest(_ source: RequestBody.Source) async {
      await texts.provoke { try await BodyDigest.computed(of: RequestBody(source: source)) }
    }
    await digest(.file(path: file, length: 3))
    await digest(.file(path: "/nowhere/body", length: 3))
    await digest(.stream(length: 3, isReplayable: true, open: { { nil } }))
    return texts
  }
}

extension TransportError {
  static var shutDownForTests: Self {
    Self(stage: .cancelled, code: .shutDown, message: "the application shut the stack down")
  }
}
