// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Retry eligibility", .timeLimit(.minutes(15)))
struct RetryInterceptorTests {
  static let interceptor = RetryInterceptor(policy: .maxRetries(3))

  static func attempts(
    _ method: HTTPRequest.Method, _ answer: ScriptedTransport.Step,
    eligibility: RetryInterceptor.Eligibility = .standard, options: RequestOptions = RequestOptions(),
    fields: HTTPFields = [:]
  ) async throws -> Int {
    let transport = ScriptedTransport(repeatingLast: answer)
    let stack = TransportNetworkStack(transport)
    let error = try await stack.failure(
      of: .test(
        method, fields: fields, options: options,
        interceptors: [RetryInterceptor(policy: .maxRetries(3), eligibility: eligibility)]))
    #expect(error.attempts.count == transport.requests.count)
    return transport.requests.count
  }

  // CONTRIBUTING.md shows this test.
  @Test("A call that is answered 503 once is sent again")
  func retried() async throws {
    let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200, body: "[1]")])
    var configuration = StackConfiguration()
    configuration.timeSource = ManualClock(autoAdvance: true).timeSource
    configuration.interceptors = [.retry(.maxRetries(1))]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let answer = try await stack.fetch(HTTPResource<[Int], TextAPIError>.get("https://api.example.org/"))
    #expect(answer.value == [1])
    try transport.verify()
  }

  @Test("Statuses such as 503 are retried for idempotent requests", arguments: [425, 429, 500, 502, 503, 504])
  func retriedStatuses(status: Int) async throws {
    #expect(try await Self.attempts(.get, .answer(status)) == 4)
    #expect(try await Self.attempts(.put, .answer(status)) == 4)
    #expect(try await Self.attempts(.post, .answer(status)) == 1)
    #expect(try await Self.attempts(.patch, .answer(status)) == 1)
    #expect(try await Self.attempts(.post, .answer(status), fields: [.idempotencyKey: "k"]) == 4)
  }

  @Test("408 is retried once for idempotent requests, and 421 once for all")
  func once() async throws {
    #expect(try await Self.attempts(.get, .answer(408)) == 2)
    #expect(try await Self.attempts(.post, .answer(408)) == 1)
    #expect(try await Self.attempts(.get, .answer(421)) == 2)
    #expect(try await Self.attempts(.post, .answer(421)) == 2)
  }

  @Test("A 409 to a repeated idempotency key means that the first attempt is in progress, and is retried")
  func conflict() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(503), .answer(409), .answer(409), .answer(200))
    let stack = TransportNetworkStack(transport)
    let value = try await stack.fetch(
      .test(.post, fields: [.idempotencyKey: "k"], interceptors: [Self.interceptor]))
    #expect(value.response.attempts.map(\.status?.code) == [503, 409, 409, 200])
    #expect(try await Self.attempts(.get, .answer(409)) == 1)
    #expect(try await Self.attempts(.post, .answer(409), fields: [.idempotencyKey: "k"]) == 1)
    let endless = ScriptedTransport(repeatingLast: .answer(503), .answer(409))
    let error = try await TransportNetworkStack(endless).failure(
      of: .test(.post, fields: [.idempotencyKey: "k"], interceptors: [Self.interceptor]))
    #expect(error.attempts.count == 4)
  }

  @Test("The resend after a 401 does not count towards the policy's retries")
  func replays() async throws {
    let replay = Hooks(failed: { $0.error.statusCode == .unauthorized ? .retry : .none })
    let transport = ScriptedTransport(
      repeatingLast:
        .answer(401), .answer(503), .answer(401), .answer(503), .answer(503), .answer(503))
    let error = try await TransportNetworkStack(transport).failure(
      of: .test(.get, interceptors: [replay, Self.interceptor]))
    #expect(error.attempts.map(\.status?.code) == [401, 503, 401, 503, 503, 503])
    guard case .policy(.retries(3)) = error.retryEnd else { throw error }
  }

  @Test("Other statuses are not retried", arguments: [300, 400, 401, 403, 404, 409, 422, 501, 505])
  func otherStatuses(status: Int) async throws {
    #expect(try await Self.attempts(.get, .answer(status)) == 1)
  }

  @Test(
    "Failures before anything was sent are retried for any method",
    arguments: [
      (FailureStage.resolve, FailureCode.hostNotFound), (.connect, .connectFailed), (.timeout, .connectTimeout),
      (.proxy, .proxyConnectFailed), (.tls, .handshakeFailed),
    ])
  func notSent(stage: FailureStage, code: FailureCode) async throws {
    #expect(try await Self.attempts(.post, .fail(stage, code)) == 4)
    #expect(try await Self.attempts(.get, .fail(stage, code)) == 4)
  }

  @Test(
    "Failures after sending are retried for idempotent requests only",
    arguments: [
      (FailureStage.response, FailureCode.connectionLost), (.timeout, .attemptTimeout), (.timeout, .idleTimeout),
      (.send, .sendFailed), (.response, .receiveFailed),
    ])
  func sent(stage: FailureStage, code: FailureCode) async throws {
    #expect(try await Self.attempts(.get, .fail(stage, code, sent: true)) == 4)
    #expect(try await Self.attempts(.post, .fail(stage, code, sent: true)) == 1)
    #expect(try await Self.attempts(.post, .fail(stage, code, sent: true), eligibility: .any) == 1)
    var options = RequestOptions()
    options.idempotency = .idempotent
    #expect(try await Self.attempts(.post, .fail(stage, code, sent: true), options: options) == 4)
    options.idempotency = .notIdempotent
    #expect(try await Self.attempts(.get, .fail(stage, code, sent: true), options: options) == 1)
  }

  @Test(
    "Failures that a retry cannot fix are not retried by the standard policy",
    arguments: [
      (FailureStage.trust, FailureCode("pin_mismatch")), (.tls, .untrustedCertificate), (.tls, .hostMismatch),
      (.tls, .certificateExpired), (.tls, .invalidTLSConfiguration), (.cancelled, .shutDown),
      (.timeout, .totalTimeout), (.limit, .bodyTooLarge), (.redirect, .redirectLoop), (.request, .invalidOption),
      (.proxy, .proxyRefused), (.response, .malformedResponse), (.response, .badContentEncoding),
    ])
  func never(stage: FailureStage, code: FailureCode) async throws {
    #expect(try await Self.attempts(.get, .fail(stage, code)) == 1)
  }

  @Test("A response that does not decode is not fetched again")
  func decode() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(200, body: "{}"))
    let resource = HTTPResource<Model, APIFailure>(
      baseRequestMaking: .request(try .test()), decoding: .json(), errorDecoding: .json(),
      interceptors: [Self.interceptor])
    let error = try await TransportNetworkStack(transport).failure(of: resource)
    #expect(error.stage == .decode)
    #expect(transport.requests.count == 1)
  }

  @Test("With any, other statuses are retried too, for idempotent requests")
  func anyEligibility() async throws {
    #expect(try await Self.attempts(.get, .answer(404), eligibility: .any) == 4)
    #expect(try await Self.attempts(.post, .answer(404), eligibility: .any) == 1)
  }
}
