// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("OAuth 2 sources", .timeLimit(.minutes(15)))
struct OAuth2SourceTests {
  static let tokenURL = "https://id.example/token"

  static func client(_ authentication: OAuth2Client.Authentication = .basic("hidden-s")) throws -> OAuth2Client {
    try OAuth2Client(tokenURL: tokenURL, id: "app", authentication: authentication)
  }

  static func answer(_ body: String, status: HTTPResponse.Status = .ok) -> ScriptedTransport.Step {
    .respond(status: status, headers: [.contentType: "application/json"], body: body)
  }

  static let granted = #"{"access_token":"hidden-a","token_type":"bearer","expires_in":60,"refresh_token":"hidden-r"}"#

  static func stack(_ transport: ScriptedTransport, _ interceptors: any HTTPResourceInterceptor...)
    -> TransportNetworkStack
  {
    var configuration = StackConfiguration()
    configuration.interceptors = interceptors
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  static func form(_ request: TransferRequest?) throws -> String {
    guard case .bytes(let data) = request?.body.source else { throw TestFailure("no bytes") }
    return String(decoding: data, as: UTF8.self)
  }

  /// Returns the error that a source throws for one answer.
  static func error(
    _ step: ScriptedTransport.Step, _ authentication: OAuth2Client.Authentication = .body("hidden-s")
  ) async throws -> OAuth2Error {
    let source = try client(authentication).clientCredentials(stack: stack(ScriptedTransport([step])))
    do {
      _ = try await source.token(replacing: nil)
    } catch let error as OAuth2Error {
      return error
    }
    throw TestFailure("there was a token")
  }

  @Test("Client credentials by Basic send RFC 6749 §4.4.2's request and read §5.1's response")
  func clientCredentials() async throws {
    let transport = ScriptedTransport([Self.answer(Self.granted)])
    let source = try Self.client().clientCredentials(
      scope: "read write", parameters: ["audience": "https://api/&"],
      stack: Self.stack(transport))
    let token = try await source.token(replacing: nil)
    #expect(token.value == "hidden-a" && token.refreshToken == "hidden-r")
    #expect(token.expiresIn == .seconds(60) && token.scope == "read write")
    let request = try #require(transport.requests.first)
    #expect(request.head.method == .post && request.head.authority == "id.example" && request.head.path == "/token")
    #expect(request.head.headerFields[.authorization] == "Basic " + Data("app:hidden-s".utf8).base64EncodedString())
    #expect(request.head.headerFields[.accept] == "application/json")
    #expect(request.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
    #expect(
      try Self.form(request)
        == "grant_type=client_credentials&scope=read+write&audience=https%3A%2F%2Fapi%2F%26")
    #expect(!request.allowsResend && transport.remainingSteps == 0)
  }

  @Test("With Basic, id and secret are form-encoded first (§2.3.1)")
  func encodedBasic() async throws {
    let transport = ScriptedTransport([Self.answer(Self.granted)])
    let client = try OAuth2Client(tokenURL: Self.tokenURL, id: "a:b c", authentication: .basic("p%:ä+"))
    _ = try await client.clientCredentials(stack: Self.stack(transport)).token(replacing: nil)
    let field = try #require(transport.requests.first?.head.headerFields[.authorization])
    #expect(field == "Basic " + Data("a%3Ab+c:p%25%3A%C3%A4%2B".utf8).base64EncodedString())
  }

  @Test("The client secret is sent in the body, or omitted", arguments: [true, false])
  func bodyAuthentication(hasSecret: Bool) async throws {
    let transport = ScriptedTransport([Self.answer(Self.granted)])
    let source = try Self.client(hasSecret ? .body("s&") : .none).clientCredentials(stack: Self.stack(transport))
    _ = try await source.token(replacing: nil)
    #expect(transport.requests.first?.head.headerFields[.authorization] == nil)
    #expect(
      try Self.form(transport.requests.first)
        == "grant_type=client_credentials&client_id=app" + (hasSecret ? "&client_secret=s%26" : ""))
  }

  @Test(
    "A refresh sends §6's request; a new refresh token replaces the old one, is handed over first, and is used next")
  func rotation() async throws {
    let rotated = EventRecorder<String>()
    let transport = ScriptedTransport([
      Self.answer(#"{"access_token":"a1","token_type":"Bearer","refresh_token":"r1"}"#),
      Self.answer(#"{"access_token":"a2","token_type":"Bearer"}"#),
      Self.answer(#"{"access_token":"a3","token_type":"Bearer","refresh_token":"r3","scope":"less"}"#),
    ])
    let source = try OAuth2RefreshToken(
      client: Self.client(), refreshToken: "r0", scope: "some", stack: Self.stack(transport)
    ) { rotated.record($0.reveal()) }
    let first = try await source.token(replacing: nil)
    #expect(rotated.events == ["r1"])
    let second = try await source.token(replacing: first)
    #expect(second.refreshToken == "r1" && second.scope == "some" && second.expiresIn == nil)
    // `first` is the token that `second` replaced. The latest refresh token is still used.
    let third = try await source.token(replacing: first)
    #expect(third.refreshToken == "r3" && third.scope == "less")
    #expect(
      try transport.requests.map(Self.form) == [
        "grant_type=refresh_token&refresh_token=r0&scope=some", "grant_type=refresh_token&refresh_token=r1&scope=some",
        "grant_type=refresh_token&refresh_token=r1&scope=some",
      ])
    #expect(rotated.events == ["r1", "r3"])
  }

  @Test("A refresh token that was spent is not sent again; one from a new login is used")
  func spent() async throws {
    let transport = ScriptedTransport([
      Self.answer(#"{"access_token":"a1","token_type":"Bearer","refresh_token":"r1"}"#),
      Self.answer(#"{"access_token":"a2","token_type":"Bearer"}"#),
      Self.answer(#"{"access_token":"a3","token_type":"Bearer"}"#),
    ])
    let source = try OAuth2RefreshToken(client: Self.client(), stack: Self.stack(transport))
    await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
    let old = try AccessToken.test("a0", refreshToken: "r0")
    _ = try await source.token(replacing: old)
    // The answer came too late for the authenticator, which still has the old token.
    _ = try await source.token(replacing: old)
    _ = try await source.token(replacing: try .test("mine", refreshToken: "login"))
    #expect(
      try transport.requests.map { try Self.form($0).split(separator: "=").last } == ["r0", "r1", "login"])
  }

  @Test("After a logout no refresh token of the user is left, wherever it came from")
  func logout() async throws {
    let transport = ScriptedTransport([
      Self.answer(#"{"access_token":"a1","token_type":"Bearer","refresh_token":"r1","expires_in":100}"#),
      Self.answer(#"{"access_token":"b2","token_type":"Bearer"}"#),
    ])
    let source = try OAuth2RefreshToken(client: Self.client(), refreshToken: "r0", stack: Self.stack(transport))
    let bearer = try BearerAuthenticator.test(source)
    #expect(try await bearer.field() == "Bearer a1")
    bearer.replace(with: nil)
    let error = try await #require(throws: OAuth2Error.self) { try await bearer.field() }
    guard case .noRefreshToken = error else { throw error }
    // Another user logs in, first without a refresh token and then with one.
    bearer.replace(with: try .test("b0"))
    guard case .noRetry = try await bearer.action(refused: "b0") else { throw TestFailure("refreshed") }
    bearer.replace(with: try .test("b1", refreshToken: "rb"))
    #expect(try await bearer.action(refused: "b1").word == "retry")
    #expect(try transport.requests.map { try Self.form($0).split(separator: "=").last } == ["r0", "rb"])
  }

  @Test("A response that arrives after the token was forgotten is dropped, without a rotation")
  func lateAnswer() async throws {
    let rotated = EventRecorder<String>()
    let late = Lock<OAuth2RefreshToken?>(nil)
    let body = #"{"access_token":"a1","token_type":"Bearer","refresh_token":"r1"}"#
    let transport = ScriptedTransport(handler: { _ throws(TransportError) in
      late.withLock { $0 }?.forget()
      return .answer(200, body: body)
    })
    let source = try OAuth2RefreshToken(
      client: Self.client(), refreshToken: "r0", stack: Self.stack(transport)
    ) { rotated.record($0.reveal()) }
    late.withLock { $0 = source }
    await #expect(throws: CancellationError.self) { try await source.token(replacing: nil) }
    late.withLock { $0 = nil }
    #expect(rotated.events.isEmpty)
    await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
    #expect(transport.requests.count == 1)
  }

  @Test("A task that was cancelled before it asks consumes no refresh token")
  func cancelledBefore() async throws {
    let transport = ScriptedTransport()
    let source = try OAuth2RefreshToken(client: Self.client(), stack: Self.stack(transport))
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await source.token(replacing: .test("a", refreshToken: "r"))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    let error = try await #require(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
    guard case .noRefreshToken = error else { throw error }
  }

  @Test("Refusals (§5.2) are recognised with status 400, 401 and 200")
  func refusals() async throws {
    let body = #"""
      {"error":"invalid_grant","error_description":"it\nexpired","error_uri":"https://id.example/e","extra":1}
      """#
    for status in [HTTPResponse.Status.badRequest, .unauthorized, .ok] {
      let failure = try await Self.error(Self.answer(body, status: status))
      guard case .refused(status, let error, let description) = failure else { throw failure }
      #expect(error == "invalid_grant" && description == "it\\nexpired (https://id.example/e)")
    }
    let bare = try await Self.error(Self.answer(#"{"error":"invalid_client"}"#, status: .unauthorized))
    #expect(bare.description == "the token endpoint refused with 401 invalid_client")
    let answer = Self.answer(#"{"error":"x","error_uri":"https://id.example/e"}"#, status: .badRequest)
    let page = try await Self.error(answer)
    #expect(page.description == "the token endpoint refused with 400 x: https://id.example/e")
  }

  @Test(
    "Responses without a valid token are refused",
    arguments: [
      "", "[]", "hidden-x", #"{"access_token":"hidden-x"}"#, #"{"access_token":"","token_type":"bearer"}"#,
      #"{"access_token":"hidden x","token_type":"bearer"}"#, #"{"access_token":"hidden-x\r\n","token_type":"bearer"}"#,
      #"{"access_token":["hidden-x"],"token_type":"bearer"}"#, #"{"token_type":"bearer"}"#,
    ])
  func malformed(body: String) async throws {
    let error = try await Self.error(Self.answer(body))
    guard case .invalidAnswer = error else { throw error }
    #expect(!"\(error)".contains("hidden"))
  }

  @Test("A token of another type is refused, and the error names the type")
  func otherType() async throws {
    let error = try await Self.error(Self.answer(#"{"access_token":"hidden-x","token_type":"MAC"}"#))
    guard case .unsupportedTokenType(let type) = error else { throw error }
    #expect(type == "MAC")
  }

  @Test(
    "Lifetimes are read as numbers or digits in a string, and nonsense and overflow are handled",
    arguments: [
      ("3600", Duration.seconds(3600)), (#""3600""#, .seconds(3600)), ("1.5", .seconds(1.5)), ("-5", .zero),
      ("1e300", .seconds(1_000_000_000)), ("null", nil), (#""soon""#, nil), (#""nan""#, .zero), ("[1]", nil),
      (#""+3600""#, nil),
    ] as [(String, Duration?)])
  func lifetimes(text: String, expected: Duration?) async throws {
    let body = #"{"access_token":"a","token_type":"Bearer","expires_in":\#(text)}"#
    let source = try Self.client().clientCredentials(stack: Self.stack(ScriptedTransport([Self.answer(body)])))
    #expect(try await source.token(replacing: nil).expiresIn == expected)
  }

  @Test("Invalid settings are refused by the initializer")
  func validation() throws {
    func make(_ url: String, id: String = "app", secret: Secret = "s", insecure: Bool = false)
      throws(ConfigurationError) -> OAuth2Client
    {
      try OAuth2Client(tokenURL: url, id: id, authentication: .basic(secret), allowsInsecureTokenURL: insecure)
    }
    for url in ["", "/token", "ftp://id.example/", "https://u:p@id.example/", "https://id.example/#a", "https:///t"] {
      #expect(throws: ConfigurationError.self) { try make(url) }
    }
    #expect(throws: ConfigurationError.self) { try make("http://id.example/token") }
    // The last label is not a number, so this is a name.
    #expect(throws: ConfigurationError.self) { try make("http://127.0.0.-0/token") }
    #expect(throws: Never.self) { try make("http://id.example/token", insecure: true) }
    for url in ["http://localhost:1/t", "http://127.0.0.1/t", "http://[::1]:8/t"] {
      #expect(throws: Never.self) { try make(url) }
    }
    #expect(throws: ConfigurationError.self) { try make(Self.tokenURL, id: "") }
    #expect(throws: ConfigurationError.self) { try make(Self.tokenURL, id: "a\n") }
    #expect(throws: ConfigurationError.self) { try make(Self.tokenURL, secret: "") }
    let stack = Self.stack(ScriptedTransport())
    for parameters in [["grant_type": "x"], ["scope": "x"], ["client_secret": "x"], ["": "x"]]
      as [KeyValuePairs<String, Secret>]
    {
      #expect(throws: ConfigurationError.self) {
        try Self.client().clientCredentials(parameters: parameters, stack: stack)
      }
      #expect(throws: ConfigurationError.self) {
        try OAuth2RefreshToken(client: Self.client(), refreshToken: "r", parameters: parameters, stack: stack)
      }
    }
    #expect(throws: ConfigurationError.self) {
      try OAuth2RefreshToken(client: Self.client(), refreshToken: "", stack: stack)
    }
  }
}
