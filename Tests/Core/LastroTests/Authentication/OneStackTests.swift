// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// Credentials that are created before the stack. Their token calls and their clock are those of the stack that uses
/// them.
@Suite("Tokens on one stack", .timeLimit(.minutes(15)))
struct OneStackTests {
  static func token(_ value: String, lifetime: Int) -> ScriptedTransport.Step {
    OAuth2SourceTests.answer(#"{"access_token":"\#(value)","token_type":"bearer","expires_in":\#(lifetime)}"#)
  }

  static let resource = HTTPResource<NoContent, TextAPIError>.get("https://api.example/me")

  @Test("A source without a stack uses the stack whose call needs the token, also after a 401")
  func sameStack() async throws {
    let transport = ScriptedTransport([
      Self.token("first", lifetime: 60), .answer(401), Self.token("second", lifetime: 60), .answer(204),
    ])
    let source = try OAuth2SourceTests.client().clientCredentials()
    let authenticator = try BearerAuthenticator(source: source, origins: [Origin("https://api.example")])
    let stack = TransportNetworkStack(transport, interceptors: [authenticator, .retry])
    _ = try await stack.fetch(Self.resource)
    try transport.verify()
    #expect(transport.requests.map { $0.head.authority } == ["id.example", "api.example", "id.example", "api.example"])
    let fields = transport.requests.compactMap { $0.head.headerFields[.authorization] }
    #expect(fields.filter { $0.hasPrefix("Bearer") } == ["Bearer first", "Bearer second"])
    #expect(fields.filter { $0.hasPrefix("Basic") }.count == 2)
  }

  @Test("A refresh token source without a stack does so too")
  func refreshToken() async throws {
    let transport = ScriptedTransport([Self.token("first", lifetime: 60), .answer(204)])
    let source = try OAuth2RefreshToken(client: OAuth2SourceTests.client(), refreshToken: "r")
    let authenticator = try BearerAuthenticator(source: source, origins: [Origin("https://api.example")])
    _ = try await TransportNetworkStack(transport, interceptors: [authenticator]).fetch(Self.resource)
    #expect(transport.requests.count == 2)
  }

  @Test("A source without a stack that is asked outside of a call names what is missing")
  func noStack() async throws {
    let source = try OAuth2SourceTests.client().clientCredentials()
    let error = await #expect(throws: OAuth2Error.self) { try await source.token(replacing: nil) }
    #expect("\(try #require(error))".contains("the token source has no stack"))
  }

  @Test("A stack that is dropped during a token request is not retained")
  func noCycle() async throws {
    weak var kept: BearerAuthenticator?
    let asked = EventRecorder<Int>()
    do {
      // The source returns only once it is cancelled, which happens when its authenticator is released.
      let source = CustomAccessTokenSource { _ in
        asked.record(1)
        try await asked.waitForEvents(count: 2)
        return try AccessToken("t", expiresIn: .seconds(60))
      }
      let authenticator = try BearerAuthenticator(source: source, origins: [Origin("https://api.example")])
      kept = authenticator
      let stack = TransportNetworkStack(ScriptedTransport(), interceptors: [authenticator])
      let fetch = Task { try await stack.fetch(Self.resource) }
      try await asked.waitForEvents(count: 1)
      fetch.cancel()
      await #expect(throws: (any Error).self) { try await fetch.value }
    }
    #expect(await eventually { kept == nil })
  }

  @Test("An authenticator and a scripted transport use the clock of their stack")
  func oneClock() async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport([
      Self.token("first", lifetime: 100), .answer(204), .answer(204), Self.token("second", lifetime: 100_000),
      .answer(204),
      .hang,
    ])
    let source = try OAuth2SourceTests.client().clientCredentials()
    let authenticator = try BearerAuthenticator(
      source: source, origins: [Origin("https://api.example")], leeway: .zero)
    var configuration = StackConfiguration(interceptors: [authenticator])
    configuration.timeSource = clock.timeSource
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    _ = try await stack.fetch(Self.resource)
    clock.advance(by: .seconds(99))
    _ = try await stack.fetch(Self.resource)
    clock.advance(by: .seconds(2))
    _ = try await stack.fetch(Self.resource)
    let bearers = transport.requests.compactMap { $0.head.headerFields[.authorization] }.filter {
      $0.hasPrefix("Bearer")
    }
    #expect(bearers == ["Bearer first", "Bearer first", "Bearer second"])
    let error = try await clock.moving(by: .seconds(30)) { try await stack.failure(of: Self.resource) }
    #expect(error.code == .totalTimeout)
  }

  @Test("The lifetime of an initial token is measured by the stack's clock")
  func firstToken() async throws {
    let clock = ManualClock()
    let source = CustomAccessTokenSource { _ in try AccessToken("second", expiresIn: .seconds(60)) }
    let authenticator = try BearerAuthenticator(
      source: source, origins: [Origin("https://api.example")], token: AccessToken("first", expiresIn: .seconds(600)),
      leeway: .zero)
    let transport = ScriptedTransport(repeatingLast: .answer(204))
    let stack = TransportNetworkStack(transport, time: clock.timeSource, interceptors: [authenticator])
    for seconds in [300, 400] {
      _ = try await stack.fetch(Self.resource)
      clock.advance(by: .seconds(seconds))
    }
    _ = try await stack.fetch(Self.resource)
    let fields = transport.requests.compactMap { $0.head.headerFields[.authorization] }
    #expect(fields == ["Bearer first", "Bearer first", "Bearer second"])
  }
}
