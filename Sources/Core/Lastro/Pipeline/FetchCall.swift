// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The state of one call that outlives its attempts. `Stages.swift` shows the sequence of its stages. It is used by one
/// task only, and no access to a variable extends over a function call. Therefore, exclusivity is unchecked for some
/// variables.
final class FetchCall {
  /// The number of the latest call of the process.
  private static let lastID = Atomic<UInt64>(0)

  let plan: FetchPlan
  let callID: UInt64
  /// The start time of the call on the plan's clock.
  let start: Duration
  @exclusivity(unchecked) var retryState = Retry.State.empty
  /// The attempts that have ended.
  @exclusivity(unchecked) var attempts: [Attempt] = []

  init(_ plan: consuming FetchPlan) {
    callID = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
    start = plan.configuration.timeSource.now()
    self.plan = plan
  }

  /// Makes a call that is explained and never run. It takes no number and does not read the clock.
  init(explaining plan: FetchPlan) { (self.plan, callID, start) = (plan, 0, .zero) }

  /// Ends the call successfully, unless its caller has cancelled it: a cancelled caller always gets the cancellation
  /// error.
  func succeed(
    with response: ResourceResponse, of attempt: AttemptRun
  ) throws(HTTPFetchError<any Error>) -> ResourceResponse {
    settleQuota(after: attempt)
    // Since the attempt checked for cancellation, only `succeeded` hooks can have waited.
    guard !plan.hooks.contains(.succeeded) || !Task.isCancelled else {
      attempts = response.attempts
      throw ended(cancelled(nil, attempt), attempt)
    }
    emit(.callEnded(.success(response)), of: attempt)
    if let body = attempt.observedBody { body.markCallSuccessful() } else { attempt.options.progress?.finish() }
    return response
  }

  /// Returns the ledger of the call so far.
  func ledger(of attempt: AttemptRun, retryEnd: Retry.End? = nil) -> AttemptLedger {
    AttemptLedger(
      callID: callID, method: attempt.request?.head.method, url: attempt.request?.url, redaction: attempt.redaction,
      operation: attempt.options.operation, idempotencyKey: attempt.idempotencyKey,
      limit: plan.timeouts(for: attempt.options).total, elapsed: plan.configuration.timeSource.now() - start,
      attempts: attempts, retryEnd: retryEnd)
  }

  /// Returns the request for the transport, with the limits of the call.
  func transferRequest(_ request: ResourceRequest, within limit: AttemptRun.Deadline?) -> TransferRequest {
    let options = request.options, timeouts = plan.timeouts(for: options)
    return TransferRequest(
      parts: TransferRequest.Parts(
        request: request, delivery: delivery(for: options), connectTimeout: timeouts.connect,
        idleTimeout: timeouts.idle, deadline: limit?.left, deadlineCode: limit?.code ?? .totalTimeout,
        wholeTimeout: limit?.whole, allowsResend: request.isIdempotent && request.body.isReplayable,
        maximumErrorBytes: max(0, plan.configuration.maximumErrorBodyBytes),
        dropsRedirectBodies: (options.redirects ?? plan.configuration.redirects).limit > 0, callID: callID))
  }

  private func delivery(for options: RequestOptions) -> TransferRequest.Delivery {
    let maximum = options.maximumBodyBytes ?? (plan.isStream ? nil : plan.configuration.maximumBodyBytes)
    // Do not collect: that would truncate the bodies of error responses.
    if plan.acceptance == .all { return .streamed(maximumBytes: maximum.map { max(0, $0) }) }
    return plan.isStream
      ? .streamedOnSuccess(
        maximumBytes: maximum.map { max(0, $0) }, errorBytes: max(0, plan.configuration.maximumErrorBodyBytes))
      : .collected(maximumBytes: max(0, maximum ?? 0))
  }

  /// Reports an event to the observers.
  ///
  /// - Parameter attempt: the attempt that is running or ended last; `nil` before the first.
  func emit(_ kind: @autoclosure () -> FetchEvent.Kind, of attempt: AttemptRun?) {
    guard !plan.configuration.observers.isEmpty else { return }
    let event = event(kind(), of: attempt)
    for observer in plan.configuration.observers { observer.observe(event) }
  }

  private func event(_ kind: FetchEvent.Kind, of attempt: AttemptRun?) -> FetchEvent {
    // A successful attempt is recorded only in the ledger of the response.
    let number =
      switch kind {
      case .attemptStarted, .transferStarted, .transferEnded: attempts.count + 1
      case .attemptEnded(let attempt): attempt.number
      case .callEnded(.success(let response)): response.attempts.count
      default: attempts.count
      }
    let time = plan.configuration.timeSource
    return FetchEvent(
      kind: kind, callID: callID, attempt: number, hop: attempt?.hops ?? 0,
      operation: (attempt?.options ?? plan.options).operation, isStream: plan.isStream, time: time.now(),
      sinceEpoch: time.sinceEpoch())
  }
}

// The stages after a failed attempt, in the order in which they run.

extension FetchCall {
  /// Asks the interceptors about a failure, and waits until the next attempt is due. Returns `nil` in that case, with
  /// the new attempt in `attempt`. If nothing asks for another attempt and the response is the value of the call, it
  /// returns the response.
  func recover(
    from failure: AttemptFailure, of attempt: inout AttemptRun
  ) async throws(HTTPFetchError<any Error>) -> ReceivedResponse? {
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
    // Refund the quota if the retry was paid for but no request was sent.
    if attempt.firstRequest == nil { refund(attempt) }
    let error = HTTPFetchError<any Error>(failure.record.ending(ledger: ledger(of: attempt)))
    switch error.reason {
    case .http, .noData, .decode:
      if plan.configuration.retryQuota?.price(of: error) == nil { settleQuota(after: attempt) }
    default: break
    }
    return error
  }

  /// Removes the large parts of the latest failure before another one is added: a hundred retries must not retain a
  /// hundred bodies.
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
        delay: delay, delaySource: source, reason: failure.reasonOfRetry, quotaLeft: payment?.tokens)
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

  /// Returns the failure as the result of the call.
  private func ending(
    _ error: HTTPFetchError<any Error>, _ attempt: AttemptRun, because end: Retry.End?
  ) -> HTTPFetchError<any Error> {
    var state: Retry.State?
    if case .policy = end { state = retryState }
    return HTTPFetchError(error.record.ending(ledger: ledger(of: attempt, retryEnd: end), retryState: state))
  }

  /// Returns the cancellation error as the result of the call. If the failure is already a cancellation, such as by the
  /// shutdown of a stack, its own error is kept.
  func cancelled(_ error: HTTPFetchError<any Error>?, _ attempt: AttemptRun) -> HTTPFetchError<any Error> {
    if let error, error.isCancelled { return ending(error, attempt, because: nil) }
    let wasSent = attempts.contains(where: \.requestSent) || attempt.requestSent
    return HTTPFetchError(
      FailureRecord(
        .cancelled(.cancelled(requestSent: wasSent)), request: error?.request, ledger: ledger(of: attempt),
        redaction: attempt.redaction))
  }

  /// Reports the end of the call.
  func ended(_ error: HTTPFetchError<any Error>, _ attempt: AttemptRun) -> HTTPFetchError<any Error> {
    attempt.options.progress?.finish()
    emit(.callEnded(.failure(error)), of: attempt)
    return error
  }
}

extension FetchCall {
  /// Deducts the cost of a retry from the quota, and returns it with the balance after that.
  ///
  /// - Throws: the failure, if other calls have used up the quota in the meantime.
  private func pay(
    _ price: RetryDecision.Price?, after error: HTTPFetchError<any Error>, of attempt: AttemptRun
  ) throws(HTTPFetchError<any Error>) -> RetryDecision.Price? {
    guard var price, let quota = plan.configuration.retryQuota else { return nil }
    guard let left = quota.pay(price.amount, for: price.origin) else {
      throw ending(error, attempt, because: .quotaSpent(price.origin))
    }
    price.tokens = left
    return price
  }

  /// Refunds the cost of an attempt that succeeded or was not made.
  private func refund(_ attempt: AttemptRun) {
    guard let payment = attempt.payment else { return }
    plan.configuration.retryQuota?.refund(payment.amount, for: payment.origin)
    attempt.payment = nil
  }

  /// Restores quota for the origin after a success, or after a response that is not a sign of overload, such as a 404.
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
  /// Returns the quota cost of a retry after a failure; `nil` if the failure is not a sign of overload.
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
