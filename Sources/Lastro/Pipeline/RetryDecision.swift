// SPDX-License-Identifier: Apache-2.0

/// What follows on a failed attempt: a value made of values. Recovery performs it and an explanation prints it, so that
/// what is foretold is what happens.
enum RetryDecision {
  /// The call ends with the failure; with why, where a policy or a rule of the stack decided it.
  case end(Retry.End?)
  /// There is another attempt.
  case again(after: Retry.Delay, source: Attempt.DelaySource, price: Price?)

  /// What a retry costs at the quota of an origin.
  struct Price {
    var origin: Origin
    var amount: Int
    /// What the quota holds.
    var tokens: Int
  }

  /// Everything that the decision depends on.
  struct Facts {
    /// What the interceptors want; `nil` when they did not say in time.
    var action: Retry.Action?
    var veto: RetryVeto?
    /// Number of attempts made.
    var attempts: Int
    var maximumAttempts: Int
    /// The wait that the server asks for.
    var demand: Retry.Delay?
    var longestDemand: Retry.Delay
    /// How much of the spread is added to such a wait: from 0 up to 1.
    var spread: Double
    /// Time until the total deadline.
    var timeLeft: Duration?
    var price: Price?
  }

  /// The decision that facts lead to.
  static func on(_ facts: Facts) -> RetryDecision {
    guard let action = facts.action else { return .end(.deadlinePassed) }
    var delay: Retry.Delay
    switch action {
    case .none: return .end(nil)
    case .noRetry(let reason):
      return .end(facts.veto.flatMap { $0.isFinal ? $0.end : nil } ?? .policy(reason))
    case .retry: delay = .zero
    case .retryAfter(let wait): delay = min(max(wait, .zero), Retry.longestDelay)
    }
    if let veto = facts.veto { return .end(veto.end) }
    guard facts.attempts < facts.maximumAttempts else { return .end(.attemptLimit(facts.maximumAttempts)) }
    var source = delay > .zero ? Attempt.DelaySource.policy : .none
    if let demand = facts.demand {
      guard demand <= facts.longestDemand else {
        return .end(.retryAfterTooLong(wait: demand, limit: facts.longestDemand))
      }
      let wait = demand + facts.spread(of: demand)
      if wait > delay { (delay, source) = (wait, .retryAfter) }
    }
    // No wait is begun that cannot end before the deadline.
    if delay > .zero, let left = facts.timeLeft, delay >= left {
      return .end(.deadlineTooClose(wait: delay, left: left, isDemanded: source == .retryAfter))
    }
    if let price = facts.price, price.amount > price.tokens { return .end(.quotaSpent(price.origin)) }
    return .again(after: delay, source: source, price: facts.price)
  }
}

extension RetryDecision.Facts {
  /// A little more than the server asks for, so that the clients it asked do not come back together.
  fileprivate func spread(of demand: Retry.Delay) -> Retry.Delay {
    // What the stack itself adds must not end the call.
    let room = timeLeft.map { max($0 - demand, .zero) / 2 } ?? .seconds(1)
    let longest = min(.seconds(1), demand / 10, room)
    return longest * spread
  }

  /// Gathers the facts about a failed attempt, by the rules of a stack.
  ///
  /// - Parameters:
  ///   - failed: the attempt.
  ///   - action: what the interceptors want; `nil` when they did not say in time.
  ///   - rules: limits, quota and date.
  ///   - spread: asked only where the server asks for a wait.
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

/// A failed attempt as the decision about a retry sees it: one that was made, or one that is asked about beforehand.
struct FailedAttempt {
  var error: HTTPFetchError<any Error>
  var number = 1
  /// The last request; `nil` when none could be made.
  var request: ResourceRequest?
  /// The first request that was handed to the transport: retrying means sending that again.
  var firstRequest: ResourceRequest?
  /// Whether the last request was handed to the transport: what fails before is not the server's fault.
  var wasTransferred = true
  /// Whether a byte of any of its requests may have left.
  var requestSent: Bool
  var hops = 0
  /// Whether the body has been read and cannot be had again.
  var isBodyConsumed: Bool
  /// Time until the total deadline.
  var timeLeft: Duration?

  /// What a retry of what a server's distress may have caused costs.
  fileprivate func price(at quota: RetryQuota?) -> RetryDecision.Price? {
    guard wasTransferred, let quota, let origin = request.flatMap({ Origin($0.head) }),
      let amount = quota.price(of: error)
    else { return nil }
    return RetryDecision.Price(origin: origin, amount: amount, tokens: quota.tokens(of: origin))
  }
}
