// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension FetchCall {
  /// Asks the interceptors, and returns when the call is to be tried again.
  func recover(from failure: AttemptFailure) async throws(HTTPFetchError<any Error>) {
    abridgeLastError()
    let context = context
    let attempt = describe(failure)
    attempts.append(attempt)
    emit(.attemptEnded(attempt))
    // What was paid for was not made.
    if current.firstRequest == nil { refund() }
    let error = HTTPFetchError<any Error>(failure.record.ending(ledger: ledger(attempts: attempts)))
    switch error.reason {
    case .http, .noData, .decode:
      if plan.configuration.retryQuota?.price(of: error) == nil { settleQuota(isFirst: attempts.count == 1) }
    default: break
    }
    let opinion = await opinion(on: failure, error, context)
    retryState.errors.append(error)
    if Task.isCancelled || error.isCancelled { throw cancelled(error) }
    guard let opinion else { throw ending(error, because: .deadlinePassed) }
    try await follow(opinion, after: error, of: failure.request)
  }

  /// The state keeps every failure, but the body of the last one only: a hundred retries are not to hold a hundred
  /// bodies.
  private func abridgeLastError() {
    guard let last = retryState.errors.popLast() else { return }
    retryState.errors.append(
      (last as? HTTPFetchError<any Error>).map { HTTPFetchError<any Error>($0.record.abridged) } ?? last)
  }

  private func follow(
    _ action: Retry.Action, after error: HTTPFetchError<any Error>, of request: ResourceRequest?
  ) async throws(HTTPFetchError<any Error>) {
    let veto = veto(of: error)
    var delay: Retry.Delay
    switch action {
    case .none: throw ending(error)
    case .noRetry(let reason):
      throw ending(error, because: veto.flatMap { $0.isFinal ? $0.end : nil } ?? .policy(reason))
    case .retry: delay = .zero
    case .retryAfter(let wait): delay = min(max(wait, .zero), Retry.longestDelay)
    }
    if let veto { throw ending(error, because: veto.end) }
    let limit = plan.configuration.maximumAttempts
    guard attempts.count < limit else { throw ending(error, because: .attemptLimit(limit)) }
    var source = delay > .zero ? Attempt.DelaySource.policy : .none
    if let demand = try demand(of: error), demand > delay {
      delay = demand
      source = .retryAfter
    }
    try checkDeadline(delay, source, after: error)
    let payment = try pay(after: error, of: request)
    current = CurrentAttempt()
    current.reason = error.reasonOfRetry
    current.payment = payment
    current.delaySource = source
    try await wait(delay, after: error)
  }

  /// What the server asks for, and a little more, so that the clients it asked do not come back together.
  private func demand(of error: HTTPFetchError<any Error>) throws(HTTPFetchError<any Error>) -> Retry.Delay? {
    guard let response = error.response,
      let wait = RetryAfter.wait(response.headerFields, sinceEpoch: plan.configuration.timeSource.sinceEpoch)
    else { return nil }
    let longest = plan.configuration.maximumRetryAfter
    guard wait <= longest else { throw ending(error, because: .retryAfterTooLong(wait: wait, limit: longest)) }
    var spread = min(.seconds(1), wait / 10)
    // A field that the stack itself adds must not end the call.
    if let left = timeLeft(options: effective), left > wait { spread = min(spread, (left - wait) / 2) }
    return wait + spread * plan.configuration.randomSource.unit()
  }

  /// No wait is begun that cannot end before the deadline.
  private func checkDeadline(
    _ delay: Retry.Delay, _ source: Attempt.DelaySource, after error: HTTPFetchError<any Error>
  ) throws(HTTPFetchError<any Error>) {
    guard delay > .zero, let left = timeLeft(options: effective), delay >= left else { return }
    throw ending(error, because: .deadlineTooClose(wait: delay, left: left, isDemanded: source == .retryAfter))
  }

  private func wait(
    _ delay: Retry.Delay, after failure: HTTPFetchError<any Error>
  ) async throws(HTTPFetchError<any Error>) {
    emit(.retryScheduled(delay: delay, source: current.delaySource, reason: current.reason))
    guard delay > .zero else { return }
    retryState.totalDelay += delay
    current.delay = delay
    do {
      try await plan.configuration.timeSource.sleep(delay)
    } catch {
      refund()
      throw cancelled(failure)
    }
  }

  private func veto(of error: HTTPFetchError<any Error>) -> RetryVeto? {
    RetryVeto.judge(
      error, firstRequest: current.firstRequest, requestSent: current.requestSent, hops: current.redirects.hops,
      isBodyConsumed: current.consumption?.seal() == false, timeLeft: timeLeft(options: effective))
  }

  private func describe(_ failure: AttemptFailure) -> Attempt {
    let outcome: Attempt.Outcome =
      switch failure.record.kind {
      case .cancelled: .cancelled
      case .http: .status
      default: .failed
      }
    return describe(
      outcome, status: failure.record.response?.status, error: failure.record.transportError, facts: failure.facts)
  }

  /// The running attempt as it is accounted for.
  func describe(
    _ outcome: Attempt.Outcome, status: HTTPResponse.Status?, error: TransportError?, facts: TransferFacts?,
    at now: Duration? = nil
  ) -> Attempt {
    var attempt = Attempt(
      number: attempts.count + 1, outcome: outcome, status: status, error: error, requestSent: current.requestSent,
      delay: current.delay, delaySource: current.delaySource, reason: current.reason,
      quotaLeft: current.payment?.left, start: current.start - start,
      duration: (now ?? plan.configuration.timeSource.now()) - current.start, preparation: current.preparation,
      redirects: current.redirects.urls, facts: facts)
    attempt.redaction = redaction
    return attempt
  }

  /// The failure as the end of the call.
  func ending(_ error: HTTPFetchError<any Error>, because end: Retry.End? = nil) -> HTTPFetchError<any Error> {
    var state: Retry.State?
    if case .policy = end { state = retryState }
    return HTTPFetchError(error.record.ending(ledger: ledger(attempts: attempts, retryEnd: end), retryState: state))
  }

  /// The cancelled error as the end of the call. A stack that was shut down says so, in its own.
  func cancelled(_ error: HTTPFetchError<any Error>?) -> HTTPFetchError<any Error> {
    if let error, error.isCancelled { return ending(error) }
    let wasSent = attempts.contains(where: \.requestSent) || current.requestSent
    return HTTPFetchError(
      FailureRecord(
        .cancelled(.cancelled(requestSent: wasSent)), request: error?.request, ledger: ledger(attempts: attempts),
        redaction: redaction))
  }
}

extension FetchCall {
  /// Pays for a retry of what a server's distress may have caused.
  ///
  /// - Throws: the failure, when nothing is left to pay with.
  private func pay(
    after error: HTTPFetchError<any Error>, of request: ResourceRequest?
  ) throws(HTTPFetchError<any Error>) -> (origin: Origin, amount: Int, left: Int)? {
    guard current.wasTransferred, let quota = plan.configuration.retryQuota,
      let origin = request.flatMap({ Origin($0.head) }), let amount = quota.price(of: error)
    else { return nil }
    guard let left = quota.pay(amount, for: origin) else { throw ending(error, because: .quotaSpent(origin)) }
    return (origin, amount, left)
  }

  /// Gives back what the retry cost: it succeeded, or was not made.
  func refund() {
    guard let payment = current.payment else { return }
    plan.configuration.retryQuota?.refund(payment.amount, for: payment.origin)
    current.payment = nil
  }

  /// A success gives the origin credit again, and so does an answer that shows no distress, such as a 404.
  func settleQuota(isFirst: Bool) {
    guard let quota = plan.configuration.retryQuota, !quota.isFull else { return }
    if current.payment != nil {
      refund()
    } else if isFirst, let origin = latest.flatMap({ Origin($0.head) }) {
      quota.refund(1, for: origin)
    }
  }
}

extension RetryQuota {
  /// What a retry after a failure costs; `nil` where the failure shows no server in distress.
  func price(of error: HTTPFetchError<any Error>) -> Int? {
    switch error.reason {
    case .http(let status, _):
      switch status.code {
      case 429: throttledCost
      case 503 where error.response?.headerFields[.retryAfter] != nil: throttledCost
      case 408, 500...599: cost
      default: nil
      }
    case .transport, .badResponse: cost
    default: nil
    }
  }
}

extension HTTPFetchError {
  fileprivate var reasonOfRetry: String {
    if case .http(let status) = record.kind { "status \(status.code)" } else { "\(stage.rawValue)/\(code)" }
  }
}
