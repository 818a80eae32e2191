// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import Logging
import TestSupport
import Testing

@testable import Lastro

@Suite("OAuth 2 sources: what is sent once, and what is never shown", .timeLimit(.minutes(15)))
struct OAuth2SafetyTests {
  typealias Sources = OAuth2SourceTests

  /// An interceptor that retries everything, and adds an idempotency key to every request.
  struct Insistent: HTTPResourceInterceptor {
    func interceptMakeRequest(
      _ result: Result<ResourceRequest, any Error>, context: AttemptContext
    ) async -> Result<ResourceRequest, any Error> {
      result.map { request in
        var request = request
        request.head.headerFields[.idempotencyKey] = "k"
        return request
      }
    }

    func interceptFailed(
      _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
      context: AttemptContext
    ) async -> Retry.Action { .retry }
  }

  @Test("A token request that may have been sent is not repeated, whatever the stack's interceptors do")
  func sentOnce() async throws {
    let lost = TransportError(stage: .response, code: .connectionLost, message: "", requestSent: true)
    for step in [ScriptedTransport.Step.respond(status: .serviceUnavailable), .fail(lost)] {
      let transport = ScriptedTransport([step, Sources.answer(Sources.granted)])
      let source = try OAuth2RefreshToken(
        client: Sources.client(), refreshToken: "r", stack: Sources.stack(transport, Insistent()))
      let error = await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
      guard case .fetch(let cause) = error else { throw TestFailure("\(String(describing: error))") }
      #expect(cause.retryEnd != nil && transport.requests.count == 1)
      #expect(transport.requests.first?.allowsResend == false)
    }
  }

  @Test("A redirect is not followed: the secrets are for the configured endpoint")
  func redirect() async throws {
    for status in [HTTPResponse.Status.found, .temporaryRedirect, .permanentRedirect] {
      let transport = ScriptedTransport([.respond(status: status, headers: [.location: "https://evil.example/"])])
      let source = try Sources.client().clientCredentials(stack: Sources.stack(transport))
      let error = await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
      guard case .fetch(let cause) = error else { throw TestFailure("\(String(describing: error))") }
      #expect(cause.statusCode == status && transport.requests.count == 1)
    }
  }

  @Test("Cancelling the task cancels the exchange")
  func cancelled() async throws {
    let transport = ScriptedTransport([.hang])
    let source = try Sources.client().clientCredentials(stack: Sources.stack(transport))
    let task = Task { try await source.token(replacing: nil) }
    try #require(await eventually { transport.runningRequests == 1 })
    task.cancel()
    guard case .failure(OAuth2Error.fetch(let error)) = await task.result else { throw TestFailure("no failure") }
    #expect(error.isCancelled && transport.runningRequests == 0)
  }

  @Test("No error shows a secret that was sent or received")
  func errors() async throws {
    let echo =
      #"{"error":"invalid_request","error_description":"hidden-s & hidden-r & hidden-p","error_uri":"hidden-s"}"#
    let basic = Data("app:hidden-s".utf8).base64EncodedString()
    let encoded = #"{"error":"a","error_description":"Basic \#(basic) refresh_token=hidden-%26"}"#
    let leak = "<p>access_token hidden-a</p>"
    let steps: [ScriptedTransport.Step] = [
      Sources.answer(echo, status: .badRequest), Sources.answer(echo), Sources.answer(encoded),
      Sources.answer(leak, status: .internalServerError), Sources.answer(leak),
      Sources.answer(Sources.granted, status: .badGateway),
      Sources.answer(#"{"access_token":"hidden-a","token_type":"mac","refresh_token":"hidden-r"}"#),
      Sources.answer(#"{"access_token":"hidden-a b","token_type":"bearer"}"#),
      .fail(TransportError(stage: .connect, code: .connectFailed, message: "")),
      .respond(status: .ok, body: Data(repeating: 0x20, count: 300 * 1024) + Data(Sources.granted.utf8)),
    ]
    for authentication in [OAuth2Client.Authentication.basic("hidden-s"), .body("hidden-s")] {
      for (step, limit) in steps.flatMap({ [($0, 0), ($0, 1)] }) {
        let retries = RetryInterceptor(policy: .maxRetries(limit), eligibility: .any)
        let source = try OAuth2RefreshToken(
          client: Sources.client(authentication), refreshToken: "hidden-r",
          parameters: ["proof": "hidden-p", "more": "hidden-&"],
          stack: Sources.stack(ScriptedTransport([step, step]), retries))
        let error = await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
        try #expect(!Self.everything(#require(error)).contains("hidden"))
      }
    }
  }

  @Test("A refusal stays a refusal when a policy of the stack was consulted")
  func refusalBehindPolicy() async throws {
    let transport = ScriptedTransport([Sources.answer(#"{"error":"invalid_scope"}"#, status: .badRequest)])
    let source = try Sources.client().clientCredentials(
      stack: Sources.stack(transport, RetryInterceptor(policy: .maxRetries(0), eligibility: .any)))
    let error = await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
    guard case .refused(.badRequest, "invalid_scope", nil) = error else { throw TestFailure("\(error as Any)") }
  }

  @Test("The logging interceptor shows no secret of requests, responses and failures")
  func logs() async throws {
    let (logger, entries) = RecordingLogHandler.make()
    let logging = LoggingInterceptor(logger: logger, verbosity: .bodies(limit: 4096), rendersCurlCommands: true)
    for step in [Sources.answer(Sources.granted), Sources.answer(Sources.granted, status: .badGateway)] {
      let source = try OAuth2RefreshToken(
        client: Sources.client(.body("hidden-s")), refreshToken: "hidden-r",
        stack: Sources.stack(ScriptedTransport([step]), logging))
      _ = try? await source.token(replacing: nil)
    }
    let text = entries.withLock { $0.map(\.text).joined(separator: "\n") }
    #expect(text.contains("grant_type") && !Self.everything(text).contains("hidden"))
  }

  @Test("A source's description shows no secrets")
  func sources() throws {
    let stack = Sources.stack(ScriptedTransport())
    let client = try Sources.client()
    let refresh = try OAuth2RefreshToken(
      client: client, refreshToken: "hidden-r", parameters: ["proof": "hidden-p"], stack: stack)
    #expect(!Self.everything(client).contains("hidden") && !Self.everything(refresh).contains("hidden"))
    let credentials = try client.clientCredentials(parameters: ["proof": "hidden-p"], stack: stack)
    #expect(!Self.everything(credentials).contains("hidden"))
  }

  @Test("With the authenticator, two expired tokens, a rotation and a final refusal work end to end")
  func together() async throws {
    let clock = ManualClock()
    let tokens = ScriptedTransport([
      Sources.answer(#"{"access_token":"a1","token_type":"Bearer","refresh_token":"r1","expires_in":100}"#),
      Sources.answer(#"{"access_token":"a2","token_type":"Bearer","expires_in":100}"#),
      Sources.answer(#"{"error":"invalid_grant"}"#, status: .badRequest),
    ])
    let source = try OAuth2RefreshToken(
      client: Sources.client(), refreshToken: "r0", stack: TransportNetworkStack(transport: tokens))
    let bearer = try BearerAuthenticator.test(source, clock: clock)
    let api = TokenAPI(accepts: "a1")
    var configuration = StackConfiguration()
    configuration.interceptors = [bearer]
    configuration.timeSource = clock.timeSource
    let stack = TransportNetworkStack(transport: api.transport, configuration: configuration)
    _ = try await stack.fetch(.test())
    api.accept("a2")
    clock.advance(by: .seconds(80))
    _ = try await stack.fetch(.test())
    api.accept("a3")
    let error = try await stack.failure(of: .test())
    guard case .policy(.custom(let cause as OAuth2Error)) = error.retryEnd else { throw error }
    #expect(error.statusCode == .unauthorized)
    guard case .refused(_, "invalid_grant", _) = cause else { throw cause }
    #expect(api.seen.events == ["Bearer a1", "Bearer a1", "Bearer a2", "Bearer a2"])
    #expect(try tokens.requests.map { try Sources.form($0).split(separator: "=").last } == ["r0", "r1", "r1"])
  }

  static func everything(_ value: Any) -> String {
    var text = "\(value) \(String(reflecting: value))"
    dump(value, to: &text)
    if let error = value as? OAuth2Error, case .fetch(let cause) = error {
      var errors = [cause]
      errors += cause.retryFailure?.state.errors.compactMap { $0 as? HTTPFetchError } ?? []
      for error in errors {
        text += String(decoding: error.body ?? Data(), as: UTF8.self) + "\(error.debugDescription)"
        dump(error.reason, to: &text)
      }
    }
    // Base64 does not hide a secret, so decoded words are searched as well.
    for word in text.split(whereSeparator: { !$0.isLetter && !$0.isNumber && !"+/=".contains($0) }) {
      if let data = Data(base64Encoded: String(word)) { text += String(decoding: data, as: UTF8.self) }
    }
    return text
  }
}
