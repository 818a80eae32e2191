// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("Retry loop", .timeLimit(.minutes(15)))
struct RetryLoopTests {
  /// An interceptor that returns scripted actions in order, then none, and records each failure.
  struct Script: HTTPResourceInterceptor {
    let actions: [Retry.Action]
    let seen = EventRecorder<Hooks.Failure>()

    func interceptFailed(
      _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
      context: AttemptContext
    ) async -> Retry.Action {
      let index = seen.record(
        .init(request: request, response: response, body: body, error: error, context: context))
      return index < actions.count ? actions[index] : .none
    }
  }

  @Test("A retry extends the state, passes the right metadata, and can succeed", .parity("ST08"))
  func retry() async throws {
    let transport = ScriptedTransport(
      repeatingLast: .answer(500, body: "a"), .answer(503, body: "b"), .answer(200, body: "c"))
    let time = ManualClock(autoAdvance: true)
    let seen = EventRecorder<(Int, Retry.Delay, String, Int)>()
    let policy = HTTPRetryPolicy.custom { error, state, metadata in
      seen.record(
        (
          state.retryCount, state.totalDelay, String(decoding: metadata.body ?? Data(), as: UTF8.self),
          metadata.response?.status.code ?? 0
        ))
      #expect((error as? HTTPFetchError<any Error>)?.statusCode == metadata.response?.status)
      #expect(metadata.request?.head.path == "/a")
      return .retry
    }
    let value = try await TransportNetworkStack(transport, time: time.timeSource).fetch(.intercepted(by: policy))
    #expect(value.value == Data("c".utf8))
    #expect(seen.events.map(\.0) == [0, 1] && seen.events.map(\.1) == [.zero, .zero])
    #expect(seen.events.map(\.2) == ["a", "b"] && seen.events.map(\.3) == [500, 503])
    #expect(time.sleeps.isEmpty)
    #expect(value.response.attempts.map(\.outcome) == [.status, .status, .succeeded])
    #expect(value.response.attempts.map(\.reason) == ["first", "status 500", "status 503"])
    #expect(value.response.attempts.map(\.status?.code) == [500, 503, 200])
  }

  @Test("The action retryAfter waits, and its delays add up", .parity("ST09"))
  func retryAfter() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(500), .fail(.connect, .connectFailed), .answer(200))
    let time = ManualClock(autoAdvance: true)
    let script = Script(actions: [.retryAfter(.seconds(1.5)), .retryAfter(.seconds(1.5))])
    let value = try await TransportNetworkStack(transport, time: time.timeSource).fetch(.intercepted(by: script))
    #expect(time.sleeps == [.seconds(1.5), .seconds(1.5)])
    #expect(script.seen.events.map(\.context.retryState.totalDelay) == [.zero, .seconds(1.5)])
    #expect(value.response.attempts.map(\.delay) == [.zero, .seconds(1.5), .seconds(1.5)])
    #expect(value.response.attempts[2].reason == "connect/connect_failed")
    #expect(value.response.attempts[1].error?.code == .connectFailed)
  }

  @Test(
    "Delays that are not positive retry at once, and are not counted", .parity("ST10", "ST11"),
    arguments: [0, -1.337, -.infinity, .nan])
  func noDelay(delay: Double) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(500), .answer(500), .answer(200))
    let time = ManualClock(autoAdvance: true)
    let script = Script(actions: [.retryAfter(Retry.seconds(delay)), .retryAfter(Retry.seconds(delay))])
    _ = try await TransportNetworkStack(transport, time: time.timeSource).fetch(.intercepted(by: script))
    #expect(time.sleeps.isEmpty)
    #expect(script.seen.events.map(\.context.retryState.totalDelay) == [.zero, .zero])
  }

  @Test("The action noRetry ends the call with its reason, every failure and the delays", .parity("ST21"))
  func noRetry() async throws {
    let transport = ScriptedTransport(
      repeatingLast: .answer(500), .answer(502), .answer(503, body: #"{"message":"m"}"#))
    let script = Script(actions: [
      .retryAfter(.seconds(2)), .retryAfter(.seconds(2)), .noRetry(.custom(TestError(name: "enough"))),
    ])
    let error = try await TransportNetworkStack(transport).failure(of: PipelineTests.typed(interceptors: [script]))
    guard case (.custom(let reason), let state)? = error.retryFailure else { throw error }
    #expect(reason as? TestError == TestError(name: "enough"))
    guard case .policy(.custom(let same)) = error.retryEnd else { throw error }
    #expect(same as? TestError == TestError(name: "enough"))
    #expect(state.errors.compactMap { ($0 as? HTTPFetchError<any Error>)?.statusCode?.code } == [500, 502, 503])
    #expect(state.totalDelay == .seconds(4))
    #expect(error.stage == .http && error.code == .unexpectedStatus)
    #expect(error.statusCode == .serviceUnavailable && error.apiError == APIFailure(message: "m"))
    guard case .http(.serviceUnavailable, APIFailure(message: "m")?) = error.reason else { throw error }
    #expect(error.attempts.count == 3)
    #expect(error.response?.attempts.count == 3)
  }

  @Test("With none after retries the failure itself is thrown, with its history")
  func noneAfterRetries() async throws {
    let script = Script(actions: [.retry, .retryAfter(.seconds(1))])
    let error = try await TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500))).failure(
      of: .intercepted(by: script))
    guard case .http(.internalServerError, _) = error.reason else { throw error }
    #expect(error.attempts.map(\.delay) == [.zero, .zero, .seconds(1)])
    #expect(error.retryEnd == nil && error.retryFailure == nil)
  }

  @Test("Every interceptor is asked, even after a noRetry, and the actions are folded starting with none")
  func fold() async throws {
    let folded = EventRecorder<String>()
    let scripts = [
      Script(actions: [.noRetry(.retries(1))]), Script(actions: [.retryAfter(.seconds(2))]), Script(actions: [.retry]),
    ]
    var resource = try RawHTTPResource.test(interceptors: Array(scripts.dropFirst()))
    resource.retryActionPriority = { lhs, rhs in
      folded.record("\(RetryTests.text(lhs)) | \(RetryTests.text(rhs))")
      return .mostPrioritary(lhs, rhs)
    }
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500)), interceptors: [scripts[0]])
    let error = try await stack.failure(of: resource)
    guard case .policy(.retries(1)) = error.retryEnd else { throw error }
    #expect(error.statusCode == .internalServerError)
    #expect(scripts.map(\.seen.events.count) == [1, 1, 1])
    #expect(folded.events == ["none | no: retries 1", "no: retries 1 | after 2.0", "no: retries 1 | retry"])
  }

  @Test("A custom priority decides")
  func ownPriority() async throws {
    var resource = try RawHTTPResource.intercepted(
      by: Script(actions: [.noRetry(.retries(1))]), Script(actions: [.retry]))
    resource.retryActionPriority = { _, next in next }
    let transport = ScriptedTransport(repeatingLast: .answer(500), .answer(200))
    _ = try await TransportNetworkStack(transport).fetch(resource)
    #expect(transport.requests.count == 2)
  }

  @Test("Retries without a delay end at the limit of attempts", arguments: [Duration.zero, .nanoseconds(1)])
  func immediateLoop(delay: Retry.Delay) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(500))
    let policy = HTTPRetryPolicy.backoff(.constant(delay: delay, until: .maxDelay(.seconds(1))))
    let stack = TransportNetworkStack(transport) { $0.retryQuota = nil }
    let error = try await stack.failure(of: .intercepted(by: policy))
    guard case .attemptLimit(1000) = error.retryEnd else { throw error }
    #expect(error.statusCode == .internalServerError)
    #expect(transport.requests.count == 1000)
  }

  @Test("A request that cannot be made is retried on request of an interceptor, and the maker is called again")
  func retriedMake() async throws {
    let calls = EventRecorder<Int>()
    let making = BaseRequestMaking<ResourceRequest> {
      if calls.record(0) < 2 { throw TestError() }
      return try .test()
    }
    let transport = ScriptedTransport(repeatingLast: .answer(200))
    let script = Script(actions: [.retry, .retryAfter(.seconds(1))])
    let resource = RawHTTPResource(baseRequestMaking: making, interceptors: [script])
    let value = try await TransportNetworkStack(transport).fetch(resource)
    #expect(calls.events.count == 3 && transport.requests.count == 1)
    #expect(script.seen.events.allSatisfy { !$0.context.wasScheduled && $0.request == nil })
    #expect(value.response.attempts.map(\.requestSent) == [false, false, true])
    #expect(value.response.attempts[1].reason == "request/request_making_failed")
  }

  @Test("A delay beyond any clock does not trap", arguments: [Retry.seconds(.infinity), .seconds(Int64.max)])
  func hugeDelay(delay: Retry.Delay) async throws {
    let script = Script(actions: [.retryAfter(delay)])
    let time = ManualClock(autoAdvance: true)
    let limited = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500)), time: time.timeSource)
    let error = try await limited.failure(of: .intercepted(by: script))
    #expect(error.retryEnd != nil && time.sleeps.isEmpty)
    let unlimited = TransportNetworkStack(
      ScriptedTransport(repeatingLast: .answer(500), .answer(200)), time: time.timeSource, timeouts: .streaming)
    _ = try await unlimited.fetch(.intercepted(by: Script(actions: [.retryAfter(delay)])))
    #expect(time.sleeps == [.seconds(1e9)])
  }

  @Test("Each fetch of a resource starts with an empty state")
  func freshState() async throws {
    let script = Script(actions: [])
    let resource = try RawHTTPResource.intercepted(by: script)
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(500)))
    _ = try await stack.failure(of: resource)
    _ = try await stack.failure(of: resource)
    #expect(script.seen.events.map(\.context.retryState.retryCount) == [0, 0])
    #expect(Set(script.seen.events.map(\.context.callID)).count == 2)
  }

  @Test("A policy's own limit is applied, however large")
  func boundedByPolicy() async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(500))
    let stack = TransportNetworkStack(transport) { $0.retryQuota = nil }
    let error = try await stack.failure(of: .intercepted(by: HTTPRetryPolicy.maxRetries(200)))
    guard case .policy(.retries(200)) = error.retryEnd else { throw error }
    #expect(error.statusCode == .internalServerError)
    #expect(transport.requests.count == 201)
  }

  @Test(
    "The stack's limit of attempts applies to retries of all kinds, and is named in the error",
    arguments: [Duration.zero, .milliseconds(1), .seconds(10)])
  func maximumAttempts(delay: Retry.Delay) async throws {
    let transport = ScriptedTransport(repeatingLast: .answer(500))
    let stack = TransportNetworkStack(transport, timeouts: .streaming) { $0.maximumAttempts = 7 }
    let policy = HTTPRetryPolicy.custom { _, _, _ in .retryAfter(delay) }
    let error = try await stack.failure(of: .intercepted(by: policy))
    guard case .attemptLimit(7) = error.retryEnd, case .http(.internalServerError, _) = error.reason else {
      throw error
    }
    #expect(error.description.contains("maximumAttempts"))
    #expect(transport.requests.count == 7 && error.attempts.count == 7)
  }

  @Test("The state keeps the body and the attempts of the last failure only")
  func abridgedState() async throws {
    let transport = ScriptedTransport(
      repeatingLast: .answer(500, body: "a"), .answer(502, body: "b"), .answer(503, body: "c"))
    let script = Script(actions: [.retry, .retry, .noRetry(.retries(2))])
    let error = try await TransportNetworkStack(transport).failure(of: .intercepted(by: script))
    let state = try #require(error.retryFailure?.state)
    let errors = state.errors.compactMap { $0 as? HTTPFetchError<any Error> }
    #expect(errors.map(\.body) == [nil, nil, Data("c".utf8)])
    #expect(errors.map(\.attempts.count) == [0, 0, 3])
    #expect(errors.map(\.response?.attempts.count) == [0, 0, 3])
    #expect(errors.map(\.bodySnippet?.text) == ["a", "b", "c"])
    #expect(errors.map(\.statusCode?.code) == [500, 502, 503])
  }
}
