// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

@Suite("The same failure has one form, however the retries ended", .timeLimit(.minutes(15)))
struct SameFailureTests {
  /// The reason for which no further attempt follows.
  enum Ending: String, CaseIterable, Sendable {
    case noPolicy, notEligible, standard, delay, ownReason, attemptLimit, quota, retryAfter, deadline, notIdempotent

    var interceptors: [any HTTPResourceInterceptor] {
      switch self {
      case .noPolicy: []
      case .notEligible: [RetryInterceptor(policy: .custom { _, _, _ in .none })]
      case .standard: [.retry]
      case .delay: [RetryInterceptor(policy: .backoff(.constant(delay: .seconds(1), until: .maxDelay(.seconds(1)))))]
      case .ownReason: [HTTPRetryPolicy.custom { _, _, _ in .noRetry(.custom(TestError(name: "enough"))) }]
      case .attemptLimit, .quota, .retryAfter, .notIdempotent: [HTTPRetryPolicy.maxRetries(100)]
      case .deadline: [HTTPRetryPolicy.custom { _, _, _ in .retryAfter(.seconds(3600)) }]
      }
    }

    /// The expected code and number of attempts.
    var expected: (code: String?, attempts: Int) {
      switch self {
      case .noPolicy, .notEligible: (nil, 1)
      case .standard: ("retries", 3)
      case .delay: ("delay", 2)
      case .ownReason: ("policy", 1)
      case .attemptLimit: ("attempts", 5)
      case .quota: ("quota", 1)
      case .retryAfter: ("retry_after", 1)
      case .deadline: ("deadline", 1)
      case .notIdempotent: ("not_idempotent", 1)
      }
    }
  }

  /// An observer that records the failures of calls.
  struct Observer: FetchObserver {
    let types = EventRecorder<String>()

    func observe(_ event: FetchEvent) {
      if case .callEnded(.failure(let error)) = event.kind { types.record(error.words) }
    }
  }

  private static func error(
    _ ending: Ending, _ answer: ScriptedTransport.Step, _ observer: Observer = Observer()
  ) async throws -> HTTPFetchError<APIFailure> {
    let quota = try RetryQuota(capacity: 1)
    let stack = TransportNetworkStack(
      ScriptedTransport(repeatingLast: answer), time: ManualClock(autoAdvance: true).timeSource
    ) {
      $0.interceptors = ending.interceptors
      $0.maximumAttempts = ending == .attemptLimit ? 5 : 1000
      $0.retryQuota = ending == .quota ? quota : nil
      $0.observers = [observer]
    }
    let request = try ResourceRequest.test(ending == .notIdempotent ? .post : .get)
    return try await stack.failure(of: PipelineTests.typed(request))
  }

  @Test("An error response has the same reason, stage, code, status, API error and hint", arguments: Ending.allCases)
  func answer(_ ending: Ending) async throws {
    let fields: HTTPFields = ending == .retryAfter ? [.retryAfter: "3600"] : [:]
    let observer = Observer()
    let error = try await Self.error(
      ending, .answer(503, fields: fields, body: #"{"message":"busy"}"#), observer)
    guard case .http(.serviceUnavailable, APIFailure(message: "busy")?) = error.reason else { throw error }
    #expect(error.stage == .http && error.code == .unexpectedStatus)
    #expect(error.statusCode == .serviceUnavailable && error.apiError == APIFailure(message: "busy"))
    #expect(error.message.contains("example.com/a with 503"))
    #expect(observer.types.events == ["http/unexpected_status"])
    check(ending, error)
  }

  @Test("A network failure has the same properties", arguments: Ending.allCases.filter { $0 != .retryAfter })
  func onTheWay(_ ending: Ending) async throws {
    let observer = Observer()
    let error = try await Self.error(ending, .fail(.response, .connectionLost, sent: true), observer)
    guard case .transport(let cause) = error.reason else { throw error }
    #expect(cause.stage == .response && cause.code == .connectionLost)
    #expect(error.stage == .response && error.code == .connectionLost && error.message == cause.message)
    #expect(observer.types.events == ["response/connection_lost"])
    check(ending, error)
  }

  /// Asserts that the reason for stopping appears beside the error, in its texts, in the ledger and in the ledger's
  /// JSON.
  private func check(_ ending: Ending, _ error: HTTPFetchError<APIFailure>) {
    let (code, attempts) = ending.expected
    #expect(error.attempts.count == attempts)
    #expect(error.retryEnd?.code == code && error.ledger.retryEnd?.code == code)
    let clause = error.retryEnd.map { "not retried\(attempts > 1 ? " again" : ""): \($0)" }
    for text in [error.description, error.debugDescription, error.ledger.description] {
      #expect(clause.map(text.contains) ?? !text.contains("not retried"), "\(text)")
    }
    let json = error.ledger.json()
    #expect(json.contains(code.map { #""retry_end":{"code":"\#($0)","message":"# } ?? #""retry_end":null"#), "\(json)")
    #expect((error.retryFailure != nil) == [.standard, .delay, .ownReason].contains(ending))
    #expect(error.retryFailure.map { $0.state.retryCount == attempts } ?? true)
  }

  @Test("A reason given by an interceptor is masked where it is printed")
  func masked() async throws {
    let secret = Secret("hush-hush-hush")
    let policy = HTTPRetryPolicy.custom { _, _, _ in .noRetry(.custom(TestError(name: "no: hush-hush-hush"))) }
    var request = try ResourceRequest.test()
    request.options.secrets = [secret]
    let stack = TransportNetworkStack(ScriptedTransport(repeatingLast: .answer(503)))
    let error = try await stack.failure(of: PipelineTests.typed(request, interceptors: [policy]))
    for text in [error.description, error.debugDescription, error.ledger.description, error.ledger.json()] {
      #expect(text.contains("no: ***") && !text.contains("hush"), "\(text)")
    }
  }
}
