// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// The stages after a failed attempt, in their order.

extension FetchCall {
  /// Asks the interceptors, and returns when it is time for the next attempt, which is then in the place of the last;
  /// or the answer that is the call's value, because nothing asks for another attempt.
  func recover(
    from failure: AttemptFailure, of attempt: inout AttemptRun
  ) async throws(HTTPFetchError<any Error>) -> Exchange? {
    do throws(HTTPFetchError<any Error>) {
      let error = account(for: failure, of: attempt)
      let opinion = await attempt.opinion(on: failure, error, attempt.context)
      retryState.errors.append(error)
      if Task.isCancelled || error.isCancelled { throw cancelled(error, attempt) }
      let facts = RetryDecision.Facts(
        failed(error, failure, attempt), action: opinion, rules: plan.configuration,
        spread: plan.configuration.randomSource.unit())
      try await perform(.on(facts), after: error, dropping: failure.answer?.body, of: &attempt)
      return nil
    } catch {
      if let answer = failure.answer, !error.isCancelled { return attempt.settle(answer, error) }
      failure.answer?.body.cancel()
      throw ended(error, attempt)
    }
  }

  private func account(for failure: AttemptFailure, of attempt: AttemptRun) -> HTTPFetchError<any Error> {
    abridgeLastError()
    let account = attempt.describe(failure)
    attempts.append(account)
    emit(.attemptEnded(account), of: attempt)
    // What was paid for was not made.
    if attempt.firstRequest == nil { refund(attempt) }
    let error = HTTPFetchError<any Error>(failure.record.ending(ledger: ledger(of: attempt)))
    switch error.reason {
    case .http, .noData, .decode:
      if plan.configuration.retryQuota?.price(of: error) == nil { settleQuota(after: attempt) }
    default: break
    }
    return error
  }

  /// The state keeps every failure, but the body of the last one only: a hundred retries are not to hold a hundred
  /// bodies.
  private func abridgeLastError() {
    guard let last = retryState.errors.popLast() else { return }
    retryState.errors.append(
      (last as? HTTPFetchError<any Error>).map { HTTPFetchError<any Error>($0.record.abridged) } ?? last)
  }

  private func failed(
    _ error: HTTPFetchError<any Error>, _ failure: AttemptFailure, _ attempt: AttemptRun
  ) -> FailedAttempt {
    FailedAttempt(
      error: error, number: attempts.count, request: failure.request, firstRequest: attempt.firstRequest,
      wasTransferred: attempt.wasTransferred, requestSent: attempt.requestSent, hops: attempt.hops,
      isBodyConsumed: attempt.consumption?.seal() == false, timeLeft: attempt.timeLeft)
  }

  private func perform(
    _ decision: RetryDecision, after failure: HTTPFetchError<any Error>, dropping body: ResponseBody?,
    of attempt: inout AttemptRun
  ) async throws(HTTPFetchError<any Error>) {
    switch decision {
    case .end(let end): throw ending(failure, attempt, because: end)
    case .again(let delay, let source, let price):
      let payment = try pay(price, after: failure, of: attempt)
      body?.cancel()
      let cause = AttemptCause(
        delay: delay, delaySource: source, reason: failure.reasonOfRetry, quotaLeft: payment?.left)
      attempt = AttemptRun(of: self, after: attempt, because: cause, for: payment)
      emit(.retryScheduled(delay: delay, source: source, reason: cause.reason), of: attempt)
      guard delay > .zero else { return }
      retryState.totalDelay += delay
      do {
        try await plan.configuration.timeSource.sleep(delay)
      } catch {
        refund(attempt)
        throw cancelled(failure, attempt)
      }
    }
  }

  /// The failure as the end of the call.
  private func ending(
    _ error: HTTPFetchError<any Error>, _ attempt: AttemptRun, because end: Retry.End?
  ) -> HTTPFetchError<any Error> {
    var state: Retry.State?
    if case .policy = end { state = retryState }
    return HTTPFetchError(error.record.ending(ledger: ledger(of: attempt, retryEnd: end), retryState: state))
  }

  /// The cancelled error as the end of the call. A stack that was shut down says so, in its own.
  func cancelled(_ error: HTTPFetchError<any Error>?, _ attempt: AttemptRun) -> HTTPFetchError<any Error> {
    if let error, error.isCancelled { return ending(error, attempt, because: nil) }
    let wasSent = attempts.contains(where: \.requestSent) || attempt.requestSent
    return HTTPFetchError(
      FailureRecord(
        .cancelled(.cancelled(requestSent: wasSent)), request: error?.request, ledger: ledger(of: attempt),
        redaction: attempt.redaction))
  }

  /// Tells of the end of the call.
  func ended(_ error: HTTPFetchError<any Error>, _ attempt: AttemptRun) -> HTTPFetchError<any Error> {
    attempt.options.progress?.finish()
    emit(.callEnded(.failure(error)), of: attempt)
    return error
  }
}

extension FetchCall {
  /// Pays for a retry.
  ///
  /// - Throws: the failure, when other calls have spent meanwhile what there was.
  private func pay(
    _ price: RetryDecision.Price?, after error: HTTPFetchError<any Error>, of attempt: AttemptRun
  ) throws(HTTPFetchError<any Error>) -> AttemptRun.Payment? {
    guard let price, let quota = plan.configuration.retryQuota else { return nil }
    guard let left = quota.pay(price.amount, for: price.origin) else {
      throw ending(error, attempt, because: .quotaSpent(price.origin))
    }
    return AttemptRun.Payment(origin: price.origin, amount: price.amount, left: left)
  }

  /// Gives back what an attempt cost: it succeeded, or was not made.
  private func refund(_ attempt: AttemptRun) {
    guard let payment = attempt.payment else { return }
    plan.configuration.retryQuota?.refund(payment.amount, for: payment.origin)
    attempt.payment = nil
  }

  /// A success gives the origin credit again, and so does an answer that shows no distress, such as a 404.
  func settleQuota(after attempt: AttemptRun) {
    guard let quota = plan.configuration.retryQuota, !quota.isFull else { return }
    if attempt.payment != nil {
      refund(attempt)
    } else if attempt.earlier == 0, let origin = attempt.request.flatMap({ Origin($0.head) }) {
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
