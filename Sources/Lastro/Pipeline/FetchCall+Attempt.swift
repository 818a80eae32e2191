// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What the last transfer of an attempt brought.
struct Exchange {
  var request: ResourceRequest
  var response: ResourceResponse
  var body: ResponseBody
}

extension FetchCall {
  /// One attempt: make, adapt, transfer, follow redirects, judge, decode, tell.
  func attempt() async throws(AttemptFailure) -> Network.Value<FetchedValue, ResourceResponse> {
    current.start = plan.configuration.timeSource.now()
    try checkCancellation()
    try check(deadline(options: effective, at: current.start))
    var exchange = try await exchange()
    exchange.body = try await judged(exchange)
    let output = try finished(&exchange)
    await tellSucceeded(exchange)
    return Network.Value(value: output, response: exchange.response)
  }

  /// Makes the value of a 2xx answer, and accounts for the attempt.
  @inline(never)
  private func finished(_ exchange: inout Exchange) throws(AttemptFailure) -> FetchedValue {
    let output: FetchedValue
    do {
      output = try plan.finish(exchange.body, exchange.response)
    } catch {
      throw undecodable(error, exchange)
    }
    account(for: &exchange)
    if Task.isCancelled {
      throw failure(.cancelled(.cancelled(requestSent: true)), exchange.request, facts: exchange.response.facts)
    }
    emit(.attemptEnded(exchange.response.attempts.last ?? Attempt(outcome: .succeeded)))
    return output
  }

  @inline(never)
  private func account(for exchange: inout Exchange) {
    let now = plan.configuration.timeSource.now()
    let attempt = describe(
      .succeeded, status: exchange.response.status, error: nil, facts: exchange.response.facts, at: now)
    exchange.response.ledger = ledger(attempts: attempts.isEmpty ? [attempt] : attempts + [attempt], at: now)
  }

  /// Makes the request, has it transferred, and follows redirects.
  private func exchange() async throws(AttemptFailure) -> Exchange {
    var request = try await prepared(nil)
    while true {
      request = try await cleared(request)
      let answer = try await transfer(request)
      let response = self.answer(answer.head, to: request, facts: answer.facts)
      guard let next = try redirected(request, by: response) else {
        return Exchange(request: request, response: response, body: answer.body)
      }
      answer.body.cancel()
      request = try await prepared(next)
    }
  }

  /// The request that an answer redirects to, if it does.
  @inline(never)
  private func redirected(
    _ request: ResourceRequest, by response: ResourceResponse
  ) throws(AttemptFailure) -> ResourceRequest? {
    do throws(TransportError) {
      let policy = request.options.redirects ?? plan.configuration.redirects
      let next = try current.redirects.next(after: response.head, to: request, policy: policy)
      if next != nil { current.redirectedFrom = response }
      return next
    } catch {
      throw failure(.redirect(error), request, response, facts: response.facts)
    }
  }

  /// Lets interceptors adapt a redirect's request, or the base request, and counts the time that takes.
  private func prepared(_ redirected: ResourceRequest?) async throws(AttemptFailure) -> ResourceRequest {
    let start = plan.configuration.timeSource.now()
    current.wasTransferred = false
    defer { current.preparation += plan.configuration.timeSource.now() - start }
    let base = if let redirected { Result<_, any Error>.success(redirected) } else { try await base() }
    return completed(try await adapted(base))
  }

  /// The request as interceptors left it, with what its body says of itself.
  @inline(never)
  private func completed(_ adapted: ResourceRequest) -> ResourceRequest {
    var request = adapted
    // Asked for one by one: a look-up by name would build an index, and a change copies the request.
    if request.head.headerFields.contains(where: { $0.name == .cookie }) {
      request.head.headerFields = request.head.headerFields.withOneCookieField
    }
    request.nameCarriedSecrets()
    if let contentType = request.body.contentType, request.head.headerFields[.contentType] == nil {
      request.head.headerFields[.contentType] = contentType
    }
    latest = request
    latestURL = nil
    return request
  }

  /// Checks the request, has it signed, and tells interceptors that it is about to be handed over.
  private func cleared(_ request: ResourceRequest) async throws(AttemptFailure) -> ResourceRequest {
    var request = request
    effective = request.options
    try check(request)
    if !plan.configuration.signers.isEmpty {
      request = try await signed(request)
      redaction = redaction.adding(request)
      effective = request.options
      try check(request)
    }
    try checkCancellation(request)
    current.wasScheduled = true
    try await tellScheduled(request)
    return request
  }

  /// Hands a request to the transport.
  private func transfer(_ request: ResourceRequest) async throws(AttemptFailure) -> TransferResponse {
    let transfer = try begin(request)
    do throws(TransportError) {
      let answer = try await plan.transport.execute(transfer)
      note(answer, to: request)
      return answer
    } catch {
      throw failure(of: error, request)
    }
  }

  // What waits for nothing stands apart from what waits: a frame that waits would hold all that it needs.

  @inline(never)
  private func begin(_ request: ResourceRequest) throws(AttemptFailure) -> TransferRequest {
    let limit = deadline(options: request.options)
    try check(limit, request)
    try checkCancellation(request)
    let transfer = transferRequest(request, limit)
    if current.firstRequest == nil { current.firstRequest = request }
    latest = request
    latestURL = request.url
    current.wasTransferred = true
    emit(.transferStarted(request))
    return transfer
  }

  @inline(never)
  private func note(_ answer: TransferResponse, to request: ResourceRequest) {
    current.requestSent = true
    emit(
      .transferEnded(
        .success(.init(response: self.answer(answer.head, to: request, facts: answer.facts), body: answer.body.bytes))))
  }

  @inline(never)
  private func failure(of error: TransportError, _ request: ResourceRequest) -> AttemptFailure {
    var error = error
    // The error must not claim that nothing was sent when an earlier hop of the attempt sent something.
    current.requestSent = current.requestSent || error.requestSent
    error.requestSent = current.requestSent
    emit(.transferEnded(.failure(error.redacted(by: redaction))))
    let response = error.head.map { answer($0, to: request, facts: error.facts ?? TransferFacts()) }
    return failure(kind(of: error), request, response, facts: error.facts)
  }

  @inline(never)
  private func checkCancellation(_ request: ResourceRequest? = nil) throws(AttemptFailure) {
    if Task.isCancelled { throw failure(.cancelled(.cancelled()), request) }
  }

  /// Nothing reaches the transport that could be read in two ways, or asks for what makes no sense.
  @inline(never)
  private func check(_ request: ResourceRequest) throws(AttemptFailure) {
    do throws(TransportError) {
      try plan.checkLimits(of: request.options)
      try RequestCheck.check(request)
    } catch {
      throw failure(.noRequest(error), request)
    }
  }

  @inline(never)
  private func answer(
    _ head: HTTPResponse, to request: ResourceRequest, facts: TransferFacts
  ) -> ResourceResponse {
    var response = ResourceResponse(
      head: head, url: current.redirects.url(ofRequestTo: latestURL ?? request.url), redirects: current.redirects.urls,
      facts: facts)
    response.redaction = redaction
    return response
  }

  @inline(never)
  private func transferRequest(_ request: ResourceRequest, _ limit: Deadline?) -> TransferRequest {
    var body = request.body
    if !body.isReplayable {
      let consumption = BodyConsumption()
      current.consumption = consumption
      body = consumption.watching(body)
    }
    let timeouts = plan.timeouts(for: request.options)
    var transfer = TransferRequest(
      head: request.head, body: body, connection: request.options.connection,
      delivery: plan.delivery(for: request.options), connectTimeout: timeouts.connect, idleTimeout: timeouts.idle,
      deadline: limit?.left, deadlineCode: limit?.code ?? .totalTimeout,
      allowsResend: request.isIdempotent && body.isReplayable,
      secrets: request.options.secrets, maximumErrorBytes: max(0, plan.configuration.maximumErrorBodyBytes),
      dropsRedirectBodies: (request.options.redirects ?? plan.configuration.redirects).limit > 0)
    transfer.wholeTimeout = limit?.whole
    if let hook = request.options.onInterimResponse { transfer.onInterimResponse = hook }
    if let progress = request.options.progress {
      transfer.progress = progress.beginTransfer(totalBytesToSend: body.length)
    }
    return transfer
  }

  /// What is left for the attempt, the code to fail with when it passes, and the timeout that it is left of.
  typealias Deadline = (left: Duration, code: FailureCode, whole: Duration?)

  func deadline(options: RequestOptions, at time: Duration? = nil) -> Deadline? {
    let timeouts = plan.timeouts(for: options)
    guard timeouts.total != nil || timeouts.attempt != nil else { return nil }
    let now = time ?? plan.configuration.timeSource.now()
    let total = timeouts.total.map { $0 - (now - start) }
    let attempt = timeouts.attempt.map { $0 - (now - current.start) }
    switch (attempt, total) {
    case (nil, nil): return nil
    case (let attempt?, nil): return (attempt, .attemptTimeout, timeouts.attempt)
    case (nil, let total?): return (total, .totalTimeout, timeouts.total)
    case (let attempt?, let total?):
      return attempt < total ? (attempt, .attemptTimeout, timeouts.attempt) : (total, .totalTimeout, timeouts.total)
    }
  }

  @inline(never)
  private func check(_ limit: Deadline?, _ request: ResourceRequest? = nil) throws(AttemptFailure) {
    guard let limit, limit.left <= .zero else { return }
    do throws(TransportError) {
      try plan.timeouts(for: effective).check()
    } catch {
      throw failure(.noRequest(error), request)
    }
    throw failure(
      .transport(
        .deadlinePassed(
          limit.code, of: limit.whole, "before the request was sent", requestSent: current.requestSent)),
      request)
  }

  /// Tells failures of the answer from success, and brings the body into the shape that decoding expects.
  private func judged(_ exchange: Exchange) async throws(AttemptFailure) -> ResponseBody {
    let status = exchange.response.head.statusCode
    if plan.acceptsUpgrade, status == 101 { return exchange.body }
    guard (200...299).contains(status) else { throw await badStatus(exchange) }
    if status == 204 || status == 205 || exchange.request.head.method == .head {
      exchange.body.cancel()
      return plan.isStream ? observed(ResponseBody(Data())) : ResponseBody(Data())
    }
    if plan.isStream { return observed(exchange.body) }
    let limit = exchange.request.options.maximumBodyBytes ?? plan.configuration.maximumBodyBytes
    let bytes: Data
    do throws(TransportError) {
      bytes = try await exchange.body.collect(upTo: limit)
    } catch {
      throw failure(kind(of: error), exchange.request, exchange.response, facts: error.facts ?? exchange.response.facts)
    }
    if bytes.isEmpty, exchange.request.options.requiresBody {
      throw failure(.noData(exchange.response.status), exchange.request, exchange.response)
    }
    return ResponseBody(bytes)
  }

  @inline(never)
  private func observed(_ body: ResponseBody) -> ResponseBody {
    guard !plan.configuration.observers.isEmpty || effective.progress != nil else { return body }
    let observed = ObservedBody(
      body, observers: plan.configuration.observers, time: plan.configuration.timeSource, callID: callID,
      attempt: attempts.count + 1, hop: current.redirects.hops, operation: effective.operation,
      progress: effective.progress)
    observedBody = observed
    return ResponseBody(source: observed)
  }

  private func badStatus(_ exchange: Exchange) async -> AttemptFailure {
    var exchange = exchange
    let (body, cut) = await errorBody(of: exchange)
    if let cut { exchange.response.facts.bodyCut = cut }
    let decoded = Result { try plan.decodeError(body, exchange.response) }
    var apiError: (any Error)?
    var decodingFailure: (any Error)?
    switch decoded {
    case .success(let error): apiError = error
    case .failure(let error): decodingFailure = error
    }
    return failure(
      .http(exchange.response.status), exchange.request, exchange.response, body: plan.kept(body), apiError: apiError,
      decodingFailure: decodingFailure, facts: exchange.response.facts)
  }

  @inline(never)
  private func undecodable(_ error: any Error, _ exchange: Exchange) -> AttemptFailure {
    let body = exchange.body.bytes ?? Data()
    let decodeFailure = DecodeFailure(
      error, payload: body, metadata: exchange.response, snippetBytes: plan.configuration.bodySnippetBytes)
    // Some APIs answer 200 with an error in the body.
    let apiError = try? plan.decodeError(body, exchange.response)
    return failure(
      .decode(decodeFailure), exchange.request, exchange.response, body: body, apiError: apiError,
      facts: exchange.response.facts)
  }

  private func kind(of error: TransportError) -> FailureRecord.Kind {
    switch (error.stage, error.code) {
    case (.cancelled, _): .cancelled(error)
    case (.request, _): .noRequest(error)
    case (.redirect, _): .redirect(error)
    case (.response, .malformedResponse): .badResponse(error)
    default: .transport(error)
    }
  }

  /// A failure of this attempt. Once the task is cancelled, every failure is the cancelled one.
  @inline(never)
  func failure(
    _ kind: FailureRecord.Kind, _ request: ResourceRequest? = nil, _ response: ResourceResponse? = nil,
    body: Data? = nil, apiError: (any Error)? = nil, decodingFailure: (any Error)? = nil, facts: TransferFacts? = nil
  ) -> AttemptFailure {
    var kind = kind
    if Task.isCancelled { kind = .cancelled(.cancelled(requestSent: current.requestSent)) }
    let record = FailureRecord(
      kind, request: request?.summary(redaction), response: response, apiError: apiError,
      apiErrorDecodingFailure: decodingFailure, bodySnippet: plan.snippet(body, redaction), body: body,
      redaction: redaction)
    return AttemptFailure(record: record, request: request, body: body, facts: facts)
  }
}
