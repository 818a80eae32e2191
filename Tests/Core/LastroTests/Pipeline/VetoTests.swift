// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Rules that forbid retries", .timeLimit(.minutes(15)))
struct VetoTests {
  typealias Script = RetryLoopTests.Script

  static func run(
    _ answer: ScriptedTransport.Step, _ action: Retry.Action, method: HTTPRequest.Method = .get,
    fields: HTTPFields = [:], body: RequestBody = .empty, options: RequestOptions = RequestOptions()
  ) async throws -> (error: HTTPFetchError<any Error>, sent: Int, asked: Int) {
    let script = Script(actions: Array(repeating: action, count: 2))
    let transport = ScriptedTransport(repeatingLast: answer)
    let error = try await TransportNetworkStack(transport).failure(
      of: .test(method, fields: fields, body: body, options: options, interceptors: [script]))
    return (error, transport.requests.count, script.seen.events.count)
  }

  @Test("A trust failure is final, whatever a policy says, and interceptors see it")
  func trust() async throws {
    for action in [Retry.Action.retry, .retryAfter(.seconds(1)), .noRetry(.retries(0))] {
      let result = try await Self.run(.fail(.trust, FailureCode("pin_mismatch")), action)
      #expect(result.sent == 1 && result.asked == 1)
      #expect(result.error.stage == .trust)
    }
    for action in [Retry.Action.retry, .noRetry(.retries(0))] {
      let vetoed = try await Self.run(.fail(.trust, FailureCode("pin_mismatch")), action)
      guard case .trust = vetoed.error.retryEnd else { throw vetoed.error }
      #expect(vetoed.error.description.contains("not retried: a trust failure"))
    }
  }

  @Test("An exceeded total deadline is final")
  func deadline() async throws {
    for action in [Retry.Action.retry, .retryAfter(.seconds(1)), .noRetry(.retries(0))] {
      let result = try await Self.run(.fail(.timeout, .totalTimeout, sent: true), action)
      #expect(result.sent == 1 && result.asked == 1)
      #expect(result.error.stage == .timeout && result.error.code == .totalTimeout)
      guard case .deadlinePassed = result.error.retryEnd else { throw result.error }
    }
  }

  @Test(
    "Requests that are not idempotent and may have been sent are not retried",
    arguments: [HTTPRequest.Method.post, .patch])
  func notIdempotent(method: HTTPRequest.Method) async throws {
    for answer in [
      ScriptedTransport.Step.answer(503), .answer(500), .answer(429), .fail(.response, .connectionLost, sent: true),
    ] {
      let result = try await Self.run(answer, .retry, method: method)
      #expect(result.sent == 1 && result.asked == 1)
      guard case .notIdempotent(method) = result.error.retryEnd else { throw result.error }
      #expect(result.error.retryEnd?.description.contains("Idempotency-Key") == true)
    }
    var options = RequestOptions()
    options.idempotency = .idempotent
    #expect(try await Self.run(.answer(503), .retry, method: method, options: options).sent == 3)
    #expect(try await Self.run(.answer(503), .retry, method: method, fields: [.idempotencyKey: "1"]).sent == 3)
    #expect(try await Self.run(.fail(.connect, .connectFailed), .retry, method: method).sent == 3)
  }

  @Test("A refusal without processing may be retried, such as a POST with new credentials", arguments: [401, 407, 421])
  func refusals(status: Int) async throws {
    #expect(try await Self.run(.answer(status), .retry, method: .post).sent == 3)
  }

  @Test("noRetry takes precedence over a rule that is not final, so its reason is reported")
  func noRetry() async throws {
    let result = try await Self.run(.answer(503), .noRetry(.retries(0)), method: .post)
    let isPolicy = if case .policy(.retries(0)) = result.error.retryEnd { true } else { false }
    #expect(isPolicy, "\(result.error)")
    let isUnavailable = if case .http(.serviceUnavailable, _) = result.error.reason { true } else { false }
    #expect(isUnavailable, "\(result.error)")
  }

  @Test("A GET can be declared not idempotent")
  func explicit() async throws {
    var options = RequestOptions()
    options.idempotency = .notIdempotent
    #expect(try await Self.run(.answer(503), .retry, options: options).sent == 1)
  }

  @Test("A POST that was answered by 303 is not resent if the GET after it failed")
  func redirectedPost() async throws {
    let transport = ScriptedTransport { (request) throws(TransportError) in
      request.head.method == .post ? .redirect(303, to: "/done") : .answer(503)
    }
    let script = Script(actions: [.retry])
    let error = try await TransportNetworkStack(transport).failure(of: .test(.post, interceptors: [script]))
    #expect(transport.requests.map(\.head.method) == [.post, .get])
    #expect(error.retryEnd?.description.contains("POST") == true)
  }

  @Test("A one-shot body that was read is not sent again; one that was not read is")
  func oneShotBody() async throws {
    for isRead in [true, false] {
      let body = RequestBody(source: .stream(length: nil, isReplayable: false) { { nil } })
      let transport = ScriptedTransport { (request, index) throws(TransportError) in
        if isRead, case .stream(_, _, let open) = request.body.source { _ = open() }
        #expect(!request.allowsResend)
        if index > 0 { return .answer(200) }
        throw TransportError(stage: .connect, code: .connectFailed, message: "scripted")
      }
      let stack = TransportNetworkStack(transport)
      let resource = try RawHTTPResource.test(.put, body: body, interceptors: [Script(actions: [.retry])])
      if isRead {
        let error = try await stack.failure(of: resource)
        guard case .bodyConsumed = error.retryEnd else { throw error }
        #expect(transport.requests.count == 1)
      } else {
        _ = try await stack.fetch(resource)
        #expect(transport.requests.count == 2)
      }
    }
  }

  @Test("An error says nothing about retries if no interceptor asked for one")
  func silent() async throws {
    #expect(try await Self.run(.answer(503), .none, method: .post).error.retryEnd == nil)
  }

  @Test("A 401 after a redirect does not resend the POST that was redirected")
  func refusedAfterRedirect() async throws {
    let transport = ScriptedTransport { (request) throws(TransportError) in
      request.head.method == .post ? .redirect(303, to: "/done") : .answer(401)
    }
    let script = Script(actions: [.retry])
    let error = try await TransportNetworkStack(transport).failure(of: .test(.post, interceptors: [script]))
    #expect(transport.requests.map(\.head.method) == [.post, .get])
    #expect(error.statusCode == .unauthorized && error.retryEnd?.description.contains("POST") == true)
  }

  @Test("QUERY is idempotent")
  func query() async throws {
    #expect(try await Self.run(.answer(503), .retry, method: #require(.init("QUERY"))).sent == 3)
  }
}
