// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes

/// A single attempt of a call with its own state, so that two attempts can run concurrently. `Stages.swift` shows the
/// sequence of its stages.
///
/// No access to a variable extends over a function call, so accesses never overlap. The compiler can prove that for
/// most variables; the others are marked as unchecked.
final class AttemptRun {
  let call: FetchCall
  /// The number of attempts before this one.
  let earlier: Int
  /// The reason for this attempt; `nil` for the first.
  let cause: AttemptCause?
  /// The quota that the attempt cost, until it is refunded.
  var payment: RetryDecision.Price?
  /// The start time of the attempt.
  var start: Duration
  /// The time when making the latest request began; `nil` once the request is made.
  var preparationStart: Duration?
  /// The time spent on making requests.
  var preparation = Duration.zero
  /// The redirects of the attempt; `nil` until a response redirects.
  @exclusivity(unchecked) var redirects: RedirectTracker?
  @exclusivity(unchecked) var redirectedFrom: ResourceResponse?
  /// The first request passed to the transport. A retry would send it again.
  var firstRequest: ResourceRequest?
  /// The latest request, possibly incomplete. Until this attempt makes one, it is the request of the previous attempt.
  @exclusivity(unchecked) var request: ResourceRequest?
  /// The options of the latest request; those of the resource if no request could be made yet.
  @exclusivity(unchecked) var options: RequestOptions
  /// The `Idempotency-Key` that all attempts send.
  @exclusivity(unchecked) var idempotencyKey: String?
  var wasScheduled = false
  /// Whether the latest request was passed to the transport. Earlier failures are not the server's fault.
  var wasTransferred = false
  /// Whether a byte of any request of the attempt may have been sent.
  var requestSent = false
  var consumption: BodyConsumption?
  /// The body of the opened stream, if it is observed.
  var observedBody: ObservedBody?
  /// The redaction for texts of the call: the usual names, and those that its requests have named so far.
  @exclusivity(unchecked) var redaction: Redaction

  init(
    of call: FetchCall, after previous: AttemptRun? = nil, because cause: AttemptCause? = nil,
    for payment: RetryDecision.Price? = nil
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

  /// The plan of the call, accessed without a copy.
  var plan: FetchPlan { _read { yield call.plan } }

  /// The number of redirects followed.
  var hops: Int { redirects?.hops ?? 0 }

  var context: AttemptContext {
    var context = AttemptContext(
      callID: call.callID, attempt: earlier + 1, retryState: call.retryState, hop: hops,
      wasScheduled: wasScheduled)
    context.redirectedFrom = redirectedFrom
    context.isLast = context.attempt >= plan.configuration.maximumAttempts
    return context
  }

  func now() -> Duration { call.plan.configuration.timeSource.now() }

  /// The time until the total deadline; `nil` if there is none.
  var timeLeft: Duration? { plan.timeouts(for: options).total.map { $0 - (now() - call.start) } }

  /// The remaining time of the attempt, the code of the failure when it passes, and the timeout that defines it.
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

  /// Returns a failure of this attempt. If the task is cancelled, the failure is always the cancellation error.
  func failure(
    _ kind: FailureRecord.Kind, _ request: ResourceRequest? = nil, _ response: ResourceResponse? = nil,
    body: Data? = nil, apiError: (any Error)? = nil, decodingFailure: (any Error)? = nil, facts: TransferFacts? = nil,
    answer: ReceivedResponse? = nil
  ) -> AttemptFailure {
    let kind = Task.isCancelled ? .cancelled(.cancelled(requestSent: requestSent)) : kind
    let record = FailureRecord(
      kind, request: request?.summary(redaction), response: response, apiError: apiError,
      apiErrorDecodingFailure: decodingFailure, bodySnippet: plan.snippet(body, redaction), body: body,
      redaction: redaction)
    return AttemptFailure(record: record, request: request, body: body, facts: facts, answer: answer)
  }

  /// Returns the record of the attempt after it failed.
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
      facts: failure.facts, redaction: redaction)
    attempt.note(redirects?.notes ?? [])
    return attempt
  }
}

/// The failure of one attempt, with the values for its interceptors. It is an object, so that it takes only one word in
/// the stack frames of functions that may throw it.
final class AttemptFailure: Error, Sendable {
  let record: FailureRecord
  let request: ResourceRequest?
  let body: Data?
  let facts: TransferFacts?
  /// The response, if it becomes the value of the call unless there is another attempt.
  let answer: ReceivedResponse?

  init(record: FailureRecord, request: ResourceRequest?, body: Data?, facts: TransferFacts?, answer: ReceivedResponse?)
  {
    self.record = record
    self.request = request
    self.body = body
    self.facts = facts
    self.answer = answer
  }
}

// The stages before the transport, in the order in which they run. The stages that wait are in
// `AttemptRun+Hooks.swift`.

extension AttemptRun {
  func startAttempt() throws(AttemptFailure) {
    if earlier > 0 { start = now() }
    preparationStart = start
    call.emit(.attemptStarted(number: earlier + 1), of: self)
    try checkCancellation()
    try check(deadline(at: start))
  }

  /// Returns the base request for the interceptors.
  func makeBase(by make: () throws -> ResourceRequest) -> Result<ResourceRequest, any Error> {
    do {
      if let request = plan.baseRequestMaking.constant { return .success(try based(on: request)) }
      return .success(
        try based(on: CallContext.$callID.withValue(call.callID) { try plan.core.coding { try make() } }))
    } catch {
      return .failure(error)
    }
  }

  /// Returns a request with the stack's defaults, the call's options and the idempotency key.
  func based(on made: ResourceRequest) throws(TransportError) -> ResourceRequest {
    var request = made
    try plan.core.complete(&request, by: plan.baseRequestMaking)
    if plan.options.mayDifferFromDefaults { request.options = plan.options.overriding(request.options) }
    var options = request.options
    // Until the interceptors run again, keep the timeouts and the progress reporter that they set last.
    if let latest = self.request?.options {
      if let timeouts = latest.timeouts { options.timeouts = timeouts }
      if let progress = latest.progress { options.progress = progress }
    }
    self.options = options
    if options.mayDifferFromDefaults || !request.body.secrets.isEmpty { redaction = redaction.adding(request) }
    try addIdempotencyKey(to: &request)
    // If no later request is made, errors describe this one.
    if self.request == nil { self.request = request }
    return request
  }

  /// Adds the idempotency key. The key belongs to the call: the one of the first attempt is kept, because the server
  /// would act on every attempt if an endpoint made a new key each time. Only the option `key` replaces it.
  private func addIdempotencyKey(to request: inout ResourceRequest) throws(TransportError) {
    let own = request.head.headerFields[.idempotencyKey].flatMap { $0.isEmpty ? nil : $0 }
    switch request.options.idempotency {
    case .byMethod, .idempotent, .notIdempotent:
      guard own != nil else { return }
      idempotencyKey = idempotencyKey ?? own
    case .key(let key):
      try RequestCheck.checkIdempotencyKey(key)
      idempotencyKey = key
    case .generatedKey: idempotencyKey = idempotencyKey ?? own ?? plan.configuration.randomSource.uuid()
    }
    request.head.headerFields[.idempotencyKey] = idempotencyKey
  }

  /// Returns the base request if no interceptor adapts requests.
  func made(_ base: Result<ResourceRequest, any Error>) throws(AttemptFailure) -> ResourceRequest {
    switch base {
    case .success(let request): return request
    case .failure(let error): throw failure(.noRequest(error))
    }
  }

  /// Completes the request with the content type and the secrets of its body, and validates it.
  func complete(_ request: inout ResourceRequest) throws(AttemptFailure) {
    if !request.isChecked {
      // Search the fields one by one: a lookup by name would build an index, and a change would copy the request.
      if request.head.headerFields.contains(where: { $0.name == .cookie }) {
        request.head.headerFields = request.head.headerFields.withOneCookieField
      }
      request.nameCarriedSecrets()
      request.addPriority()
      if let contentType = request.body.contentType, request.head.headerFields[.contentType] == nil {
        request.head.headerFields[.contentType] = contentType
      }
    }
    self.request = request
    options = request.options
    try check(request)
  }

  /// Refuses ambiguous requests and meaningless options before they reach the transport.
  func check(_ request: ResourceRequest) throws(AttemptFailure) {
    do throws(TransportError) {
      if !plan.core.hasMeaningfulLimits || request.options.mayDifferFromDefaults {
        try plan.checkLimits(of: request.options)
      }
      try RequestCheck.check(request)
    } catch {
      throw failure(.noRequest(error), request)
    }
  }

  func checkCancellation(_ request: ResourceRequest? = nil) throws(AttemptFailure) {
    if Task.isCancelled { throw failure(.cancelled(.cancelled()), request) }
  }

  private func check(_ limit: Deadline?, _ request: ResourceRequest? = nil) throws(AttemptFailure) {
    guard let limit, limit.left <= .zero else { return }
    do throws(TransportError) {
      try plan.timeouts(for: options).check()
    } catch {
      throw failure(.noRequest(error), request)
    }
    throw failure(
      .transport(
        .deadlinePassed(limit.code, of: limit.whole, "before the request was sent", requestSent: requestSent)),
      request)
  }

  /// Returns the request for the transport, with the remaining time.
  func handOver(_ request: ResourceRequest) throws(AttemptFailure) -> TransferRequest {
    try checkCancellation(request)
    wasScheduled = true
    let now = now()
    stopPreparing(at: now)
    let limit = deadline(at: now)
    try check(limit, request)
    if firstRequest == nil { firstRequest = request }
    wasTransferred = true
    call.emit(.transferStarted(request), of: self)
    return transferRequest(try propagating(request), limit)
  }

  private func propagating(_ request: ResourceRequest) throws(AttemptFailure) -> ResourceRequest {
    guard !plan.configuration.observers.isEmpty else { return request }
    var request = request
    for observer in plan.configuration.observers {
      for field in observer.propagationFields(callID: call.callID, attempt: earlier + 1) {
        request.head.headerFields[field.name] = field.value
      }
    }
    do throws(TransportError) { try RequestCheck.check(request) } catch { throw failure(of: error, request) }
    return request
  }

  private func transferRequest(_ request: ResourceRequest, _ limit: Deadline?) -> TransferRequest {
    var request = request
    if !request.body.isReplayable {
      let consumption = BodyConsumption()
      self.consumption = consumption
      request.body = consumption.watching(request.body)
    }
    var transfer = call.transferRequest(request, within: limit)
    if let progress = request.options.progress {
      transfer.progress = progress.beginTransfer(totalBytesToSend: request.body.length)
    }
    return transfer
  }
}
