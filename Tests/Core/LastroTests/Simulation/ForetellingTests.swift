// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroTesting
import TestSupport
import Testing

@testable import Lastro

/// A call and an explanation use the same decision about the consequences of a failure.
@Suite("Decisions about retries", .timeLimit(.minutes(15)))
struct ForetellingTests {
  private static let origin = Result { try Origin("https://lab.example") }

  /// Returns combinations of facts, with values on both sides of every limit.
  private static func allFacts() throws -> [RetryDecision.Facts] {
    let price = RetryDecision.Price(origin: try origin.get(), amount: 5, tokens: 5)
    let dear = RetryDecision.Price(origin: try origin.get(), amount: 5, tokens: 4)
    let actions: [Retry.Action?] = [
      nil, Retry.Action.none, .noRetry(.retries(2)), .retry, .retryAfter(.seconds(-1)), .retryAfter(.seconds(2)),
      .retryAfter(.seconds(9_000_000_000)),
    ]
    var facts: [RetryDecision.Facts] = []
    for action in actions {
      for veto in [nil, Retry.End.trust, .deadlinePassed, .bodyConsumed, .notIdempotent(.post)] {
        for attempts in [1, 2, 3] {
          for demand: Duration? in [nil, .seconds(1), .seconds(2), .seconds(60), .seconds(61)] {
            for left: Duration? in [nil, .seconds(1), .milliseconds(2_001), .seconds(61)] {
              for price in [nil, price, dear] {
                facts.append(
                  RetryDecision.Facts(
                    action: action, veto: veto, attempts: attempts, maximumAttempts: 3, demand: demand,
                    longestDemand: .seconds(60), spread: 0.999, timeLeft: left, price: price))
              }
            }
          }
        }
      }
    }
    return facts
  }

  @Test("For every combination of facts a retry breaks no rule, and an end names the first rule that forbids it")
  func rules() throws {
    var retries = 0
    for facts in try Self.allFacts() {
      let wanted: Duration? =
        switch facts.action {
        case .retry?: .zero
        case .retryAfter(let delay)?: min(max(delay, .zero), Retry.longestDelay)
        default: nil
        }
      switch RetryDecision.on(facts) {
      case .again(let delay, let source, let price):
        retries += 1
        #expect(facts.veto == nil && facts.attempts < facts.maximumAttempts, "\(facts)")
        let least = try #require(wanted)
        #expect(delay >= least && delay >= facts.demand ?? .zero, "\(facts)")
        #expect(delay == .zero || facts.timeLeft.map { delay < $0 } ?? true, "\(facts)")
        #expect((source == .none) == (delay == .zero), "\(facts)")
        #expect(facts.demand ?? .zero <= facts.longestDemand, "\(facts)")
        #expect(price?.tokens ?? 0 >= price?.amount ?? 0 && (price == nil) == (facts.price == nil), "\(facts)")
        if source == .retryAfter {
          #expect(delay <= (facts.demand ?? .zero) + .seconds(1), "\(facts)")
        } else {
          #expect(delay == least, "\(facts)")
        }
      case .end(let end): #expect(end?.code == Self.code(of: facts, wanted), "\(facts)")
      }
    }
    #expect(retries > 50)
  }

  /// Returns the code of the first rule that ends the call, in the order of the rules; `nil` if no interceptor wants a
  /// retry.
  private static func code(of facts: RetryDecision.Facts, _ wanted: Duration?) -> String? {
    guard let action = facts.action else { return "deadline" }
    if case .none = action { return nil }
    if case .noRetry = action { return facts.veto.map(RetryVeto.isFinal) == true ? facts.veto?.code : "retries" }
    if let veto = facts.veto { return veto.code }
    if facts.attempts >= facts.maximumAttempts { return "attempts" }
    if let demand = facts.demand, demand > facts.longestDemand { return "retry_after" }
    let wait = max(wanted ?? .zero, facts.demand ?? .zero)
    return facts.timeLeft.map { wait > .zero && wait >= $0 } ?? false ? "deadline" : "quota"
  }
}

/// A failed attempt of a simulated call: the facts that were known, and the sequel.
struct SimulatedFailure: Sendable {
  enum Sequel: Sendable {
    case again(Duration, Attempt.DelaySource)
    case end(HTTPFetchError<any Error>)
  }

  var error: HTTPFetchError<any Error>
  var attempt: Int
  var hops: Int
  var request: ResourceRequest?
  var firstRequest: ResourceRequest?
  var wasTransferred: Bool
  var isBodyConsumed: Bool
  var tokens: Int?
  /// The combined action of the interceptors, and the number of interceptors that gave an opinion.
  var action = Retry.Action.none
  var opinions = 0
  var sequel: Sequel?
  /// The time of the decision.
  var time = Duration.zero
}

extension SimulatedCall.State {
  mutating func conclude(_ sequel: SimulatedFailure.Sequel, at time: Duration) {
    guard let last = failures.indices.last, failures[last].sequel == nil else { return }
    failures[last].sequel = sequel
    failures[last].time = time
  }
}

/// An interceptor that is asked first, records each failure, and has no opinion.
struct FailureWitness: HTTPResourceInterceptor {
  let call: SimulatedCall
  var hooksWait: Bool { false }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    call.noteScheduled(request)
  }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    call.noteFailure(error, request, context)
    return .none
  }
}

/// An interceptor whose explanation announces the action that was chosen in the simulated call.
private struct Foretelling: ExplainableInterceptor {
  let action: Retry.Action
  var explanation: String { "repeats" }

  func explainedAction(
    after error: HTTPFetchError<any Error>, to request: ResourceRequest
  ) -> Retry.Action? { action }
}

extension SimulationProperties {
  /// Asserts, for every failure, that an explanation with the known facts predicts the sequel.
  ///
  /// - Returns: the number of explained failures.
  func checkForetelling() throws -> Int {
    var explained = 0
    for failure in seen.failures {
      // The opinion of an abandoned hook is unknown, and a caller that cancels gets no decision.
      guard failure.opinions == scenario.guests.count + 1, !failure.error.isCancelled, let sequel = failure.sequel
      else { continue }
      if case .end(let error) = sequel, error.isCancelled { continue }
      let verdict = try verdict(on: failure)
      explained += 1
      switch sequel {
      case .again(let delay, let source):
        expect(verdict.isRetried, "attempt \(failure.attempt) is retried, against \(verdict.reason)")
        // The addition to a server's requested wait is random.
        guard source != .retryAfter else { continue }
        let words = delay > .zero ? "after \(delay.brief), for instance" : "at once"
        expect(verdict.reason == words, "attempt \(failure.attempt): \(words), not \(verdict.reason)")
      case .end(let error):
        expect(!verdict.isRetried, "attempt \(failure.attempt) is not retried, against \(verdict.reason)")
        guard let end = error.retryEnd else { continue }
        expect(verdict.reason == "\(end)", "attempt \(failure.attempt): \(end), not \(verdict.reason)")
      }
    }
    return explained
  }

  private func verdict(on failure: SimulatedFailure) throws -> FetchExplanation.RetryVerdict {
    var rules = call.configuration
    let request = try failure.request ?? ResourceRequest(method: scenario.method, url: "https://lab.example/a")
    // The quota gets the level that it had at that time.
    if let quota = scenario.quota, let tokens = failure.tokens, let origin = Origin(request.head) {
      let then = try RetryQuota(capacity: quota.capacity, cost: quota.cost, throttledCost: quota.throttledCost)
      _ = then.pay(quota.capacity - tokens, for: origin)
      rules.retryQuota = then
    }
    // The rules get the date of the decision, and no observer.
    let decided = SimulatedClock.epoch + failure.time
    rules.timeSource = TimeSource(now: { failure.time }, sleep: { _ in }, sinceEpoch: { decided })
    rules.observers = []
    rules.interceptors = [Foretelling(action: failure.action)]
    let core = StackCore(transport: ScriptedTransport(repeatingLast: .answer(200)), configuration: rules)
    let failed = FailedAttempt(
      error: failure.error, number: failure.attempt, request: failure.request, firstRequest: failure.firstRequest,
      wasTransferred: failure.wasTransferred,
      requestSent: attempts.first { $0.number == failure.attempt }?.requestSent ?? false, hops: failure.hops,
      isBodyConsumed: failure.isBodyConsumed, timeLeft: scenario.total.map { $0 - failure.time })
    let plan = RawHTTPResource.raw(request).plan(by: core, isStream: false)
    return plan.verdict(on: failed, named: "attempt \(failure.attempt)", request)
  }
}
