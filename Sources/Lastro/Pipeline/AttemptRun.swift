// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One attempt of a call, with everything that is its own: two can run at once. `Stages.swift` has its plot.
///
/// No access to a variable spans a call of a function, so that none overlaps another. The compiler sees that of most;
/// the others are unchecked.
final class AttemptRun {
  let call: FetchCall
  /// Number of attempts before it.
  let earlier: Int
  /// The reason for this attempt; `nil` for the first.
  let cause: AttemptCause?
  /// The quota that it cost, until it is given back.
  var payment: Payment?
  /// The time at which it began.
  var start: Duration
  /// The time at which making its latest request began; `nil` once the request is made.
  var preparationStart: Duration?
  /// The time spent on making requests.
  var preparation = Duration.zero
  /// `nil` until an answer redirects.
  @exclusivity(unchecked) var redirects: RedirectTracker?
  @exclusivity(unchecked) var redirectedFrom: ResourceResponse?
  /// The first request handed to the transport: retrying means sending that again.
  var firstRequest: ResourceRequest?
  /// The latest request, as far as it was made; of an earlier attempt until there is one.
  @exclusivity(unchecked) var request: ResourceRequest?
  /// The options of the latest request: those of the resource where none could be made yet.
  @exclusivity(unchecked) var options: RequestOptions
  /// The `Idempotency-Key` that all attempts carry.
  @exclusivity(unchecked) var idempotencyKey: String?
  var wasScheduled = false
  /// Whether the latest request was handed to the transport: what fails before is not the server's fault.
  var wasTransferred = false
  /// Whether a byte of any of its requests may have left.
  var requestSent = false
  var consumption: BodyConsumption?
  /// The body of the opened stream, where it is observed.
  var observedBody: ObservedBody?
  /// The names that texts of the call mask: the usual ones, and those that its requests named so far.
  @exclusivity(unchecked) var redaction: Redaction

  struct Payment {
    var origin: Origin
    var amount: Int
    var left: Int
  }

  init(
    of call: FetchCall, after previous: AttemptRun? = nil, because cause: AttemptCause? = nil,
    for payment: Payment? = nil
  ) {
    self.call = call
    self.cause = cause
    self.payment = payment
    earlier = call.attempts.count
    start = call.start
    request = previous?.request
    options = previous?.options ?? call.plan.options
    redaction = previous?.redaction ?? Redaction.standard.adding(call.plan.options)
    idempotencyKey = previous?.idempotencyKey
  }

  /// The call's, of which no copy is made.
  var plan: FetchPlan { _read { yield call.plan } }

  /// Number of redirects followed.
  var hops: Int { redirects?.hops ?? 0 }

  var context: AttemptContext {
    var context = AttemptContext(
      callID: call.callID, attempt: earlier + 1, retryState: call.retryState, hop: hops,
      redirectedFrom: redirectedFrom, wasScheduled: wasScheduled)
    context.isLast = context.attempt >= plan.configuration.maximumAttempts
    return context
  }

  func now() -> Duration { call.plan.configuration.timeSource.now() }

  /// Time until the total deadline; `nil` when there is none.
  var timeLeft: Duration? { plan.timeouts(for: options).total.map { $0 - (now() - call.start) } }

  /// The time left for the attempt, the code of the failure when it passes, and the timeout that it belongs to.
  struct Deadline {
    var left: Duration
    var code: FailureCode
    var whole: Duration
  }

  func deadline(at now: Duration) -> Deadline? {
    let timeouts = plan.timeouts(for: options)
    let attempt = timeouts.attempt.map { $0 - (now - start) }
    if let whole = timeouts.total {
      let left = whole - (now - call.start)
      if attempt.map({ $0 >= left }) ?? true { return Deadline(left: left, code: .totalTimeout, whole: whole) }
    }
    guard let attempt, let whole = timeouts.attempt else { return nil }
    return Deadline(left: attempt, code: .attemptTimeout, whole: whole)
  }

  func stopPreparing(at now: Duration) {
    guard let began = preparationStart else { return }
    preparation = preparation + (now - began)
    preparationStart = nil
  }

  /// A failure of this attempt. Once the task is cancelled, every failure is the cancelled one.
  func failure(
    _ kind: FailureRecord.Kind, _ request: ResourceRequest? = nil, _ response: ResourceResponse? = nil,
    body: Data? = nil, apiError: (any Error)? = nil, decodingFailure: (any Error)? = nil, facts: TransferFacts? = nil,
    answer: Exchange? = nil
  ) -> AttemptFailure {
    let kind = Task.isCancelled ? .cancelled(.cancelled(requestSent: requestSent)) : kind
    let record = FailureRecord(
      kind, request: request?.summary(redaction), response: response, apiError: apiError,
      apiErrorDecodingFailure: decodingFailure, bodySnippet: plan.snippet(body, redaction), body: body,
      redaction: redaction)
    return AttemptFailure(record: record, request: request, body: body, facts: facts, answer: answer)
  }

  /// The attempt as it is accounted for once it has failed.
  func describe(_ failure: AttemptFailure) -> Attempt {
    let outcome: Attempt.Outcome =
      switch failure.record.kind {
      case .cancelled: .cancelled
      case .http: .status
      default: .failed
      }
    let now = now()
    stopPreparing(at: now)
    var attempt = Attempt(
      number: earlier + 1, outcome: outcome, status: failure.record.response?.status,
      error: failure.record.transportError, requestSent: requestSent, delay: cause?.delay ?? .zero,
      delaySource: cause?.delaySource ?? .none, reason: cause?.reason ?? "first", quotaLeft: cause?.quotaLeft,
      start: start - call.start, duration: now - start, preparation: preparation, redirects: redirects?.urls ?? [],
      facts: failure.facts)
    attempt.note(redirects?.notes ?? [])
    attempt.redaction = redaction
    return attempt
  }
}

/// Why one attempt failed, with what its interceptors are told. An object, so that it takes one word in the frames of
/// all that may throw it.
final class AttemptFailure: Error, Sendable {
  let record: FailureRecord
  let request: ResourceRequest?
  let body: Data?
  let facts: TransferFacts?
  /// The answer where it is a value unless there is another attempt.
  let answer: Exchange?

  init(record: FailureRecord, request: ResourceRequest?, body: Data?, facts: TransferFacts?, answer: Exchange?) {
    self.record = record
    self.request = request
    self.body = body
    self.facts = facts
    self.answer = answer
  }
}
