// SPDX-License-Identifier: Apache-2.0

/// The decision after a failed attempt, computed from values only. Recovery executes it and an explanation prints it,
/// so an explanation always predicts the actual behaviour.
enum RetryDecision {
  /// The call ends with the failure, and with the reason if a policy or a rule of the stack decided it.
  case end(Retry.End?)
  /// There will be another attempt.
  case again(after: Retry.Delay, source: Attempt.DelaySource, price: Price?)

  /// The cost of a retry for the quota of an origin.
  struct Price {
    var origin: Origin
    var amount: Int
    /// The balance of the quota: before the retry is paid for, and of a payment after it.
    var tokens: Int
  }

  /// The inputs of the decision.
  struct Facts {
    /// The action of the interceptors; `nil` if they did not return in time.
    var action: Retry.Action?
    /// The reason that forbids a retry; `nil` if there is none.
    var veto: Retry.End?
    /// The number of attempts made.
    var attempts: Int
    var maximumAttempts: Int
    /// The wait that the server requested.
    var demand: Retry.Delay?
    var longestDemand: Retry.Delay
    /// The share of the spread that is added to such a wait, from 0 up to 1.
    var spread: Double
    /// The time until the total deadline.
    var timeLeft: Duration?
    var price: Price?
  }

  /// Returns the decision for the given facts.
  static func on(_ facts: Facts) -> RetryDecision {
    guard let action = facts.action else { return .end(.deadlinePassed) }
    var delay: Retry.Delay
    switch action {
    case .none: return .end(nil)
    case .noRetry(let reason):
      return .end(facts.veto.flatMap { RetryVeto.isFinal($0) ? $0 : nil } ?? .policy(reason))
    case .retry: delay = .zero
    case .retryAfter(let wait): delay = min(max(wait, .zero), Retry.longestDelay)
    }
    if let veto = facts.veto { return .end(veto) }
    guard facts.attempts < facts.maximumAttempts else { return .end(.attemptLimit(facts.maximumAttempts)) }
    var source = delay > .zero ? Attempt.DelaySource.policy : .none
    if let demand = facts.demand {
      guard demand <= facts.longestDemand else {
        return .end(.retryAfterTooLong(wait: demand, limit: facts.longestDemand))
      }
      let wait = demand + facts.spread(of: demand)
      if wait > delay { (delay, source) = (wait, .retryAfter) }
    }
    // Do not start a wait that cannot end before the deadline.
    if delay > .zero, let left = facts.timeLeft, delay >= left {
      return .end(.deadlineTooClose(wait: delay, left: left, isDemanded: source == .retryAfter))
    }
    if let price = facts.price, price.amount > price.tokens { return .end(.quotaSpent(price.origin)) }
    return .again(after: delay, source: source, price: facts.price)
  }
}

extension RetryDecision.Facts {
  /// Returns a small addition to the requested wait, so that clients do not all return at the same time.
  fileprivate func spread(of demand: Retry.Delay) -> Retry.Delay {
    // The stack's own addition must not end the call.
    let room = timeLeft.map { max($0 - demand, .zero) / 2 } ?? .seconds(1)
    let longest = min(.seconds(1), demand / 10, room)
    return longest * spread
  }

  /// Collects the facts about a failed attempt according to the rules of a stack.
  ///
  /// - Parameters:
  ///   - failed: the attempt.
  ///   - action: the action of the interceptors; `nil` if they did not return in time.
  ///   - rules: the configuration with the limits, the quota and the clock.
  ///   - spread: the share of the spread, evaluated only if the server requested a wait.
  init(_ failed: FailedAttempt, action: Retry.Action?, rules: StackConfiguration, spread: @autoclosure () -> Double) {
    let demand = failed.error.response.flatMap {
      RetryAfter.wait($0.headerFields, sinceEpoch: rules.timeSource.sinceEpoch)
    }
    self.init(
      action: action, veto: RetryVeto.judge(failed), attempts: failed.number, maximumAttempts: rules.maximumAttempts,
      demand: demand, longestDemand: rules.maximumRetryAfter, spread: demand == nil ? 0 : spread(),
      timeLeft: failed.timeLeft, price: failed.price(at: rules.retryQuota))
  }
}

/// The facts about a failed attempt for the decision about a retry. The attempt was made, or is hypothetical.
struct FailedAttempt {
  var error: HTTPFetchError<any Error>
  var number = 1
  /// The last request; `nil` if no request could be made.
  var request: ResourceRequest?
  /// The first request passed to the transport. A retry would send it again.
  var firstRequest: ResourceRequest?
  /// Whether the last request was passed to the transport. Earlier failures are not the server's fault.
  var wasTransferred = true
  /// Whether a byte of any request of the attempt may have been sent.
  var requestSent: Bool
  var hops = 0
  /// Whether the body has been read and cannot be read again.
  var isBodyConsumed: Bool
  /// The time until the total deadline.
  var timeLeft: Duration?

  /// Returns the quota cost of retrying this attempt; `nil` if the failure is not a sign of overload.
  fileprivate func price(at quota: RetryQuota?) -> RetryDecision.Price? {
    guard wasTransferred, let quota, let origin = request.flatMap({ Origin($0.head) }),
      let amount = quota.price(of: error)
    else { return nil }
    return RetryDecision.Price(origin: origin, amount: amount, tokens: quota.tokens(of: origin))
  }
}
