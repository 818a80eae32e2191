// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Bearer authenticator: tokens on requests, and responses with 401", .timeLimit(.minutes(15)))
struct BearerAuthenticatorTests {
  let clock = ManualClock()
  let source = GatedSource()

  func stack(_ transport: any Transport, _ interceptors: any HTTPResourceInterceptor...) -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.interceptors = interceptors
    configuration.timeSource = clock.timeSource
    return TransportNetworkStack(transport: transport, configuration: configuration)
  }

  @Test("The token is sent to its origins only, and the field is marked as sensitive")
  func origins() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"))
    let request = try await bearer.authenticate(.test())
    #expect(request.head.headerFields[.authorization] == "Bearer t1")
    #expect(request.options.sensitiveHeaders.contains(.authorization))
    #expect(bearer.credentialOrigins == [try Origin("https://example.com")])
    for url in [
      "http://example.com/a", "https://example.com:444/a", "https://www.example.com/a", "https://example.com.evil/",
    ] {
      let other = try await bearer.authenticate(.test(url: url))
      #expect(other.head.headerFields[.authorization] == nil && other.options.sensitiveHeaders.isEmpty)
    }
    #expect(source.asked.isEmpty)
  }

  @Test("A request with credentials of another scheme keeps them; any bearer token is replaced")
  func otherSchemes() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"))
    #expect(try await bearer.field(fields: [.authorization: "Basic YTpi"]) == "Basic YTpi")
    #expect(try await bearer.field(fields: [.authorization: "bearer t0"]) == "Bearer t1")
  }

  @Test("Invalid settings are refused by the initializer")
  func validation() throws {
    let origin = try Origin("https://example.com")
    let plain = try Origin("http://example.com")
    func make(_ origins: [Origin], leeway: Duration = .zero, timeout: Duration = .seconds(1), insecure: Bool = false)
      throws(ConfigurationError) -> BearerAuthenticator
    {
      try BearerAuthenticator(
        source: source, origins: origins, leeway: leeway, refreshTimeout: timeout, allowsInsecureOrigins: insecure)
    }
    #expect(throws: ConfigurationError.self) { try make([]) }
    #expect(throws: ConfigurationError.self) { try make([origin, plain]) }
    #expect(throws: ConfigurationError.self) { try make([origin], leeway: .seconds(-1)) }
    #expect(throws: ConfigurationError.self) { try make([origin], timeout: .zero) }
    let none = #expect(throws: ConfigurationError.self) {
      try BearerAuthenticator(source: source, origins: [origin], maximumRefreshes: 0)
    }
    #expect(none?.description == "maximumRefreshes is 0, below the minimum of 1 (give 1 or more, or nil for no limit)")
    #expect(try make([origin, plain], insecure: true).origins == [origin, plain])
    for url in [
      "http://localhost:8080", "http://api.localhost", "http://127.0.0.1", "http://127.9.9.9", "http://[::1]",
    ] {
      #expect(try make([try Origin(url)]).origins.count == 1)
    }
    for url in ["http://localhost.evil", "http://127.0.0.1.evil", "http://128.0.0.1", "http://evil-localhost"] {
      let origin = try Origin(url)
      #expect(throws: ConfigurationError.self) { try make([origin]) }
    }
  }

  @Test("A redirect to another origin carries no token, and one back to the first does")
  func redirects() async throws {
    let transport = ScriptedTransport([
      .respond(status: .found, headers: [.location: "https://other.example/b"]),
      .respond(status: .found, headers: [.location: "https://example.com/c"]),
      .respond(status: .ok),
    ])
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"))
    _ = try await stack(transport, bearer).fetch(.test())
    #expect(transport.requests.map { $0.head.headerFields[.authorization] } == ["Bearer t1", nil, "Bearer t1"])
  }

  @Test("A closure can be the source of tokens")
  func closure() async throws {
    let bearer = try BearerAuthenticator(origins: [try Origin("https://example.com")]) { old in
      #expect(old == nil)
      return try .test("t1")
    }
    #expect(try await bearer.field() == "Bearer t1")
  }

  @Test("A 401 for the current token causes one refresh and one resend")
  func refresh() async throws {
    let api = TokenAPI(accepts: "t2")
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { old in
        #expect(old?.value == "t1")
        return try .test("t2")
      }, token: .test("t1"))
    let answer = try await stack(api.transport, bearer).fetch(.test())
    #expect(api.seen.events == ["Bearer t1", "Bearer t2"])
    #expect(answer.response.attempts.map(\.reason) == ["first", "status 401"])
    #expect(bearer.token?.value == "t2")
  }

  @Test("A 401 for an older token causes a resend without a refresh, even while one runs")
  func older() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t2"))
    #expect(try await bearer.action(refused: "t1").word == "retry")
    #expect(source.asked.isEmpty)
    async let current = bearer.action(refused: "t2")
    try await source.waitForCall(1)
    #expect(try await bearer.action(refused: "t1").word == "retry")
    source.answer(.success(try .test("t3")))
    #expect(try await current.word == "retry" && source.asked.count == 1)
  }

  @Test("A second 401 in the same call is returned, without another refresh")
  func secondRefusal() async throws {
    let api = TokenAPI(accepts: "none of them")
    let refreshes = EventRecorder<Int>()
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t\(refreshes.record(0) + 2)") }, token: .test("t1"))
    let error = try await stack(api.transport, bearer).failure(of: .test())
    guard case .http(.unauthorized, _) = error.reason else { throw error }
    #expect(api.seen.events == ["Bearer t1", "Bearer t2"] && refreshes.events.count == 1)
  }

  @Test("A 401 of another origin earlier in the call does not use up the resend")
  func foreignRefusal() async throws {
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t2") }, token: .test("t1"))
    func state(_ url: String, _ status: HTTPResponse.Status) -> Retry.State {
      let response = ResourceResponse(head: HTTPResponse(status: status), url: url)
      return Retry.State(errors: [HTTPFetchError<any Error>(.http(status, nil), response: response)])
    }
    let other = state("https://other.example/", .unauthorized)
    let unavailable = state("https://example.com/", .serviceUnavailable)
    let own = state("https://example.com/", .unauthorized)
    #expect(try await bearer.action(refused: "t0", retryState: other).word == "retry")
    #expect(try await bearer.action(refused: "t0", retryState: unavailable).word == "retry")
    #expect(try await bearer.action(refused: "t0", retryState: own).word == "none")
  }

  @Test("Other statuses and origins, and requests without its token, are left alone")
  func notItsOwn() async throws {
    let bearer = try BearerAuthenticator.test(source, token: .test("t1"))
    #expect(try await bearer.action(refused: "t1", url: "https://other.example/").word == "none")
    func word(_ status: HTTPResponse.Status?, _ fields: HTTPFields) async throws -> String {
      let response = status.map { ResourceResponse(head: HTTPResponse(status: $0), url: "https://example.com/a") }
      return await bearer.evaluateFailedRequest(
        try .test(fields: fields), response: response, body: nil, error: HTTPFetchError(.cancelled),
        retryState: .empty
      ).word
    }
    #expect(try await word(.unauthorized, [:]) == "none")
    #expect(try await word(.unauthorized, [.authorization: "Basic YTpi"]) == "none")
    #expect(try await word(.forbidden, [.authorization: "Bearer t1"]) == "none")
    #expect(try await word(.proxyAuthenticationRequired, [.authorization: "Bearer t1"]) == "none")
    #expect(try await word(nil, [.authorization: "Bearer t1"]) == "none")
    #expect(source.asked.isEmpty)
  }

  @Test("A request whose body cannot be sent again is not resent, and the next call uses the new token")
  func consumedBody() async throws {
    let api = TokenAPI(accepts: "t2")
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t2") }, token: .test("t1"))
    let transport = ScriptedTransport { (request) throws(TransportError) in
      if case .stream(_, _, let open) = request.body.source {
        let next = open()
        while let chunk = try? await next(), !chunk.isEmpty {}
      }
      return try await api.transport.execute(request)
    }
    let chunks = AsyncStream<Data> {
      $0.yield(Data("a".utf8))
      $0.finish()
    }
    let error = try await stack(transport, bearer).failure(of: .test(.post, body: .stream(chunks)))
    #expect(error.statusCode == .unauthorized && error.retryEnd != nil)
    #expect(api.seen.events == ["Bearer t1"] && bearer.token?.value == "t2")
  }

  @Test("A POST that was answered 401 is sent once more, because the server did not process it")
  func post() async throws {
    let api = TokenAPI(accepts: "t2")
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("t2") }, token: .test("t1"))
    _ = try await stack(api.transport, bearer).fetch(.test(.post, body: .raw("a")))
    #expect(api.transport.requests.map { $0.body.length } == [1, 1])
  }

  @Test("A source may use the same stack without deadlock: its requests are unchanged, and their 401 is returned")
  func sameStack() async throws {
    let api = TokenAPI(accepts: "t2")
    let late = Lock<TransportNetworkStack?>(nil)
    let bearer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in
        guard let stack = late.withLock({ $0 }) else { throw TestError() }
        _ = try await stack.fetch(.test(url: "https://example.com/token"))
        return try .test("t2")
      }, token: .test("t1"))
    late.withLock { $0 = stack(api.transport, bearer) }
    defer { late.withLock { $0 = nil } }
    let error = try await #require(late.withLock { $0 }).failure(of: .test())
    guard case .policy(.custom(let cause as HTTPFetchError<any Error>)) = error.retryEnd else { throw error }
    #expect(error.statusCode == .unauthorized)
    #expect(cause.statusCode == .unauthorized && cause.attempts.count == 1)
    #expect(api.seen.events == ["Bearer t1", nil])
    api.accept("t1")
    #expect(try await bearer.field() == "Bearer t1")
  }

  @Test("A task that the source starts counts as its own, and two authenticators are distinguished")
  func marks() async throws {
    let inner = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in try .test("inner") })
    let late = Lock<BearerAuthenticator?>(nil)
    let outer = try BearerAuthenticator.test(
      CustomAccessTokenSource { _ in
        let outer = late.withLock { $0 }
        let own = try await Task { try await outer?.field() }.value
        let other = try await inner.field()
        #expect(own == nil && other == "Bearer inner")
        return try .test("outer")
      })
    late.withLock { $0 = outer }
    #expect(try await outer.field() == "Bearer outer")
    late.withLock { $0 = nil }
  }
}
