// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

private struct Plain: HTTPResourceInterceptor {}

private struct Authenticator: RequestAuthenticator, HTTPResourceInterceptor {
  var token: @Sendable () async throws -> String
  var evaluate: @Sendable (Hooks.Failure) async -> Retry.Action = { _ in .none }

  func authenticate(_ request: ResourceRequest) async throws -> ResourceRequest {
    var request = request
    request.head.headerFields[.authorization] = "Bearer \(try await token())"
    return request
  }

  func evaluateFailedRequest(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    retryState: Retry.State
  ) async -> Retry.Action {
    await evaluate(
      .init(
        request: request, response: response, body: body, error: error,
        context: AttemptContext(retryState: retryState)))
  }
}

@Suite("Interceptors", .timeLimit(.minutes(15)))
struct InterceptorTests {
  static let context = AttemptContext()

  @Test("An interceptor's defaults pass everything on and decide nothing", .parity("IN01", "IN02", "IN03"))
  func defaults() async throws {
    let request = try ResourceRequest.test()
    let success = await Plain().interceptMakeRequest(.success(request), context: Self.context)
    #expect(try success.get().url == request.url)
    let failure = await Plain().interceptMakeRequest(.failure(TestError()), context: Self.context)
    #expect(throws: TestError()) { try failure.get() }
    let error = HTTPFetchError<any Error>(FailureRecord(.http(.ok)))
    let action = await Plain().interceptFailed(request, response: nil, body: nil, error: error, context: Self.context)
    #expect(RetryTests.text(action) == "none")
    #expect(Plain().credentialOrigins.isEmpty)
  }

  @Test("An authenticator adds credentials to every attempt", .parity("IN04", "OL08"))
  func authenticates() async throws {
    let calls = EventRecorder<Int>()
    let authenticator = Authenticator(
      token: { "t\(calls.record(0))" },
      evaluate: { $0.response?.status == .unauthorized ? .retry : .none })
    let transport = ScriptedTransport(repeatingLast: .answer(401), .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(.test(.post, interceptors: [authenticator]))
    #expect(transport.requests.map { $0.head.headerFields[.authorization] } == ["Bearer t0", "Bearer t1"])
  }

  @Test("An authenticator passes a failure on, and its own failure is reported as noRequest", .parity("IN05"))
  func authenticationFails() async throws {
    let authenticator = Authenticator(token: {
      throw TestError(name: "no token")
    })
    let failure = await authenticator.interceptMakeRequest(.failure(TestError(name: "base")), context: Self.context)
    #expect(throws: TestError(name: "base")) { try failure.get() }
    let told = EventRecorder<Bool>()
    let hooks = Hooks(failed: {
      told.record($0.context.wasScheduled)
      return .none
    })
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200)))
      .failure(of: .intercepted(by: authenticator, hooks))
    guard case .noRequest(let cause) = error.reason else { throw error }
    #expect(cause as? TestError == TestError(name: "no token"))
    #expect(told.events == [false])
  }

  @Test("The rule of an authenticator receives everything, and its action is used", .parity("IN06"))
  func evaluates() async throws {
    let seen = EventRecorder<Hooks.Failure>()
    let authenticator = Authenticator(
      token: { "t" },
      evaluate: {
        seen.record($0)
        return .noRetry(.custom(TestError(name: "auth")))
      })
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(403, body: "no")))
      .failure(of: .intercepted(by: authenticator))
    guard case .policy(.custom(let reason)) = error.retryEnd else { throw error }
    #expect(error.statusCode == .forbidden)
    #expect(reason as? TestError == TestError(name: "auth"))
    let failure = try #require(seen.events.first)
    #expect(failure.request?.head.headerFields[.authorization] == "Bearer t")
    #expect(failure.response?.status == .forbidden && failure.body == Data("no".utf8))
    #expect(failure.error.statusCode == .forbidden && failure.context.retryState.errors.isEmpty)
  }

  @Test("A policy is an interceptor: it receives metadata, and its action is returned", .parity("IN07"))
  func policy() async throws {
    let policy = HTTPRetryPolicy.custom { error, state, metadata in
      #expect(error is HTTPFetchError<any Error> && state.retryCount == 1)
      #expect(metadata.request?.head.path == "/a" && metadata.body == Data("b".utf8))
      #expect(metadata.response?.status.code == 418)
      return .retryAfter(.seconds(3))
    }
    let response = ResourceResponse(head: HTTPResponse(status: .init(code: 418)), url: "")
    let action = await policy.interceptFailed(
      try .test(), response: response, body: Data("b".utf8), error: HTTPFetchError(FailureRecord(.http(.ok))),
      context: AttemptContext(retryState: Retry.State(errors: [TestError()])))
    #expect(RetryTests.text(action) == "after 3.0")
  }

  @Test("A success calls make, scheduled and succeeded, in order, and no failure", .parity("ST12"))
  func successEvents() async throws {
    let events = EventRecorder<String>()
    let stack = TransportNetworkStack(
      ScriptedTransport(repeatingLast: .answer(201, body: "b")), interceptors: [Self.recording("s", events)])
    let value = try await stack.fetch(
      .intercepted(by: Self.recording("a", events), Self.recording("b", events)))
    #expect(
      events.events == [
        "s make 1.0 false", "a make 1.0 false", "b make 1.0 false",
        "s scheduled true", "a scheduled true", "b scheduled true",
        "s succeeded 201 b", "a succeeded 201 b", "b succeeded 201 b",
      ])
    #expect(value.response.attempts.count == 1)
  }

  @Test("A failure calls make, scheduled and failed, in order, and no success", .parity("ST24"))
  func failureEvents() async throws {
    let events = EventRecorder<String>()
    let stack = TransportNetworkStack(
      ScriptedTransport(repeatingLast: .answer(500, body: "b")), interceptors: [Self.recording("s", events)])
    _ = try await stack.failure(of: .intercepted(by: Self.recording("a", events)))
    #expect(
      events.events == [
        "s make 1.0 false", "a make 1.0 false", "s scheduled true", "a scheduled true",
        "s failed 500 b 0", "a failed 500 b 0",
      ])
  }

  @Test("A later interceptor recovers from the failure of an earlier one")
  func recovery() async throws {
    let replacement = try ResourceRequest.test(url: "https://example.com/recovered")
    let recover = Hooks(make: { result, _ in
      guard case .failure = result else { return result }
      return .success(replacement)
    })
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(
      RawHTTPResource(baseRequestMaking: BaseRequestMaking { throw TestError() }, interceptors: [recover]))
    #expect(transport.requests.map(\.head.path) == ["/recovered"])
  }

  @Test("Interceptors adapt the request one after another")
  func chain() async throws {
    let append = { (text: String) -> Hooks in
      Hooks(make: { result, _ in
        result.map {
          var request = $0
          request.head.headerFields[.accept] = (request.head.headerFields[.accept] ?? "") + text
          return request
        }
      })
    }
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let stack = TransportNetworkStack(transport, interceptors: [append("a")])
    _ = try await stack.fetch(.intercepted(by: append("b"), append("c")))
    #expect(transport.requests.first?.head.headerFields[.accept] == "abc")
  }

  @Test("A decoding failure is reported as a failure, not as a success")
  func decodeFailure() async throws {
    let events = EventRecorder<String>()
    _ = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(200, body: "{}"))).failure(
      of: PipelineTests.typed(interceptors: [Self.recording("a", events)]))
    #expect(events.events.last == "a failed 200 {} 0")
    #expect(!events.events.contains { $0.contains("succeeded") })
  }

  @Test("Attempts are numbered, and the call keeps its name")
  func numbering() async throws {
    let seen = EventRecorder<AttemptContext>()
    let hooks = Hooks(
      scheduled: { seen.record($1) },
      failed: { _ in .retry })
    _ = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500), .answer(200))).fetch(
      .intercepted(by: hooks))
    #expect(seen.events.map(\.attempt) == [1, 2])
    #expect(Set(seen.events.map(\.callID)).count == 1)
  }

  static func recording(_ name: String, _ events: EventRecorder<String>) -> Hooks {
    Hooks(
      make: { result, context in
        events.record("\(name) make \(context.attempt).\(context.hop) \(context.wasScheduled)")
        return result
      },
      scheduled: { events.record("\(name) scheduled \($1.wasScheduled && $0.head.path == "/a")") },
      succeeded: { _, response, body, _ in
        events.record("\(name) succeeded \(response.status.code) \(String(decoding: body ?? Data(), as: UTF8.self))")
      },
      failed: {
        events.record(
          "\(name) failed \($0.response?.status.code ?? 0) \(String(decoding: $0.body ?? Data(), as: UTF8.self)) "
            + "\($0.context.retryState.errors.count)")
        return .none
      })
  }
}
