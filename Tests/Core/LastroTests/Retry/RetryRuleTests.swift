// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import TestSupport
import Testing

@testable import Lastro

/// The rules by which the pipeline makes another attempt, against a plain statement of them.
@Suite("Every combination of the rules of retrying", .ownThread, .timeLimit(.minutes(15)))
struct RetryRuleTests {
  /// A failure, as far as the rules distinguish failures.
  enum Failure: CaseIterable {
    case trust, deniedAddress, certificate, totalTimeout, attemptTimeout, lostConnection, invalidResponse
    case unauthorized, proxyAuthentication, misdirected, tooManyRequests, unavailable, notMade

    var error: HTTPFetchError<any Error> {
      func transport(_ stage: FailureStage, _ code: FailureCode) -> HTTPFetchError<any Error> {
        HTTPFetchError(.transport(TransportError(stage: stage, code: code, message: "-")))
      }
      func status(_ code: Int) -> HTTPFetchError<any Error> { HTTPFetchError(.http(.init(code: code), nil)) }
      switch self {
      case .trust: return transport(.trust, .pinMismatch)
      case .deniedAddress: return transport(.connect, .egressDenied)
      case .certificate: return transport(.tls, .certificateExpired)
      case .totalTimeout: return transport(.timeout, .totalTimeout)
      case .attemptTimeout: return transport(.timeout, .attemptTimeout)
      case .lostConnection: return transport(.response, .connectionLost)
      case .invalidResponse:
        return HTTPFetchError(.badResponse(TransportError(stage: .response, code: .malformedResponse, message: "-")))
      case .unauthorized: return status(401)
      case .proxyAuthentication: return status(407)
      case .misdirected: return status(421)
      case .tooManyRequests: return status(429)
      case .unavailable: return status(503)
      case .notMade: return HTTPFetchError(.noRequest(TestError(name: "made")))
      }
    }
  }

  /// A request, as far as the rules distinguish requests.
  enum Kind: CaseIterable {
    case get, put, query, post, postWithKey, postWithEmptyKey, postMarked, getUnmarked, none

    /// RFC 9110 §9.2.2, RFC 10008 for QUERY, and what the application says.
    var isIdempotent: Bool { [.get, .put, .query, .postWithKey, .postMarked].contains(self) }

    func request() throws -> ResourceRequest? {
      let method: HTTPRequest.Method
      switch self {
      case .get, .getUnmarked: method = .get
      case .put: method = .put
      case .query: method = try #require(HTTPRequest.Method("QUERY"))
      case .post, .postWithKey, .postWithEmptyKey, .postMarked: method = .post
      case .none: return nil
      }
      var request = try ResourceRequest(method: method, url: "https://example.com/a")
      if self == .postWithKey { request.head.headerFields[.idempotencyKey] = "k" }
      if self == .postWithEmptyKey { request.head.headerFields[.idempotencyKey] = "" }
      if self == .postMarked { request.options.idempotency = .idempotent }
      if self == .getUnmarked { request.options.idempotency = .notIdempotent }
      return request
    }
  }

  /// Returns the code of the rule that forbids a retry.
  static func veto(
    _ failure: Failure, _ kind: Kind, sent: Bool, hops: Int, consumed: Bool, timeLeft: Duration?
  ) -> String? {
    switch failure {
    case .trust, .deniedAddress, .certificate: return "trust"
    case .totalTimeout: return "deadline"
    default: break
    }
    if let timeLeft, timeLeft <= .zero { return "deadline" }
    if consumed { return "body_consumed" }
    // Nothing was sent, or sending it again does no harm.
    if !sent || kind == .none || kind.isIdempotent { return nil }
    // The server did not act: it asked for credentials, or is not the server of this origin. Behind a redirect, that is
    // true of the last request only, and the first one is sent again.
    let refuses = [.unauthorized, .proxyAuthentication, .misdirected].contains(failure)
    return refuses && hops == 0 ? nil : "not_idempotent"
  }

  @Test("A retry is forbidden if and only if the plain rules forbid it")
  func vetoes() throws {
    var cases = 0, forbidden: [String: Int] = [:]
    for kind in Kind.allCases {
      let request = try kind.request()
      #expect(request?.isIdempotent ?? false == kind.isIdempotent, "\(kind)")
      for failure in Failure.allCases {
        let error = failure.error
        for (sent, hops, consumed) in [false, true].flatMap({ sent in
          [0, 1, 2].flatMap { hops in [false, true].map { (sent, hops, $0) } }
        }) {
          for timeLeft in [nil, Duration.seconds(-1), .zero, .nanoseconds(1)] {
            let failed = FailedAttempt(
              error: error, request: request, firstRequest: request, requestSent: sent, hops: hops,
              isBodyConsumed: consumed, timeLeft: timeLeft)
            let expected = Self.veto(failure, kind, sent: sent, hops: hops, consumed: consumed, timeLeft: timeLeft)
            let found = RetryVeto.judge(failed)?.code
            cases += 1
            if let expected { forbidden[expected, default: 0] += 1 }
            guard found == expected else {
              let left = timeLeft?.brief ?? "-"
              let facts = "\(failure), \(kind), sent: \(sent), \(hops) hops, consumed: \(consumed), left: \(left)"
              Issue.record("\(found ?? "-"), not \(expected ?? "-"): \(facts)")
              return
            }
          }
        }
      }
    }
    print("combinations of vetoes: \(cases), \(forbidden.sorted { $0.key < $1.key })")
    #expect(cases == 9 * 13 * 12 * 4 && forbidden.count == 4)
  }

  /// Returns the end of a call as the code of its reason, or the delay before the next attempt.
  static func outcome(_ facts: RetryDecision.Facts) -> String {
    var delay = Duration.zero
    // The hooks did not return in time.
    guard let action = facts.action else { return "deadline" }
    let isFinal = facts.veto.map { ["trust", "deadline"].contains($0.code) } ?? false
    switch action {
    case .none: return "end"
    case .noRetry(let error): return isFinal ? facts.veto?.code ?? "" : Retry.End.policy(error).code
    case .retry: break
    case .retryAfter(let wait): delay = max(.zero, wait)
    }
    if let veto = facts.veto { return veto.code }
    if facts.attempts >= facts.maximumAttempts { return "attempts" }
    if let demand = facts.demand {
      if demand > facts.longestDemand { return "retry_after" }
      delay = max(delay, demand)
    }
    if delay > .zero, let left = facts.timeLeft, delay >= left { return "deadline" }
    if let price = facts.price, price.tokens < price.amount { return "quota" }
    return "after \(delay)"
  }

  @Test("A call is continued if and only if action, veto, attempts, demand, deadline and quota permit it")
  func decisions() throws {
    let origin = try Origin("https://example.com")
    let actions: [Retry.Action?] = [
      nil, Retry.Action.none, .retry, .retryAfter(.seconds(-1)), .retryAfter(.seconds(2)), .noRetry(.retries(1)),
    ]
    let vetoes: [Retry.End?] = [nil, .trust, .deadlinePassed, .notIdempotent(.post), .bodyConsumed]
    let demands: [Duration?] = [nil, .seconds(1), .seconds(3), .seconds(61)]
    let prices: [RetryDecision.Price?] = [nil, 0, 5, 6].map { amount in
      amount.map { RetryDecision.Price(origin: origin, amount: $0, tokens: 5) }
    }
    var cases = 0, outcomes: [String: Int] = [:]
    for action in actions {
      for veto in vetoes {
        for demand in demands {
          for price in prices {
            for (attempts, timeLeft) in [1, 2, 3].flatMap({ attempts in
              [nil, Duration.seconds(2), .seconds(3), .seconds(100)].map { (attempts, $0) }
            }) {
              let facts = RetryDecision.Facts(
                action: action, veto: veto, attempts: attempts, maximumAttempts: 3, demand: demand,
                longestDemand: .seconds(60), spread: 0, timeLeft: timeLeft, price: price)
              let expected = Self.outcome(facts), found = Self.found(RetryDecision.on(facts))
              cases += 1
              outcomes[expected, default: 0] += 1
              guard found == expected else {
                Issue.record("\(found), not \(expected): \(facts)")
                return
              }
            }
          }
        }
      }
    }
    print("combinations of decisions: \(cases), \(outcomes.sorted { $0.key < $1.key })")
    #expect(cases == 6 * 5 * 4 * 4 * 12 && outcomes.count >= 12)
  }

  private static func found(_ decision: RetryDecision) -> String {
    switch decision {
    case .end(let end): end?.code ?? "end"
    case .again(let delay, _, _): "after \(delay)"
    }
  }
}
