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
  mutating func attempt() async throws(AttemptFailure) -> Network.Value<FetchedValue, ResourceResponse> {
    current.start = plan.configuration.timeSource.now()
    if Task.isCancelled { throw failure(.cancelled(.cancelled())) }
    try checkDeadline(options: effective)
    var exchange = try await exchange()
    let body = try await judged(&exchange)
    let output: FetchedValue
    do {
      output = try plan.finish(body, exchange.response)
    } catch {
      throw undecodable(error, exchange, body.bytes ?? Data())
    }
    account(for: &exchange)
    if Task.isCancelled {
      throw failure(.cancelled(.cancelled(requestSent: true)), exchange.request, facts: exchange.response.facts)
    }
    emit(.attemptEnded(exchange.response.attempts.last ?? Attempt(outcome: .succeeded)))
    await tellSucceeded(exchange, body: body.bytes)
    return Network.Value(value: output, response: exchange.response)
  }

  private func account(for exchange: inout Exchange) {
    let attempt = describe(
      .succeeded, status: exchange.response.status, error: nil, facts: exchange.response.facts)
    exchange.response.ledger = ledger(attempts: attempts.isEmpty ? [attempt] : attempts + [attempt])
  }

  /// Makes the request, has it transferred, and follows redirects.
  private mutating func exchange() async throws(AttemptFailure) -> Exchange {
    var request = try await prepared(nil)
    while true {
      let answer = try await transfer(&request)
      let response = self.answer(answer.head, to: request, facts: answer.facts)
      let next: ResourceRequest?
      do throws(TransportError) {
        next = try current.redirects.next(
          after: answer.head, to: request, policy: request.options.redirects ?? plan.configuration.redirects)
      } catch {
        throw failure(.redirect(error), request, response, facts: answer.facts)
      }
      guard let next else { return Exchange(request: request, response: response, body: answer.body) }
      answer.body.cancel()
      current.redirectedFrom = response
      request = try await prepared(next)
    }
  }

  /// Lets interceptors adapt a redirect's request, or the base request, and counts the time that takes.
  private mutating func prepared(_ redirected: ResourceRequest?) async throws(AttemptFailure) -> ResourceRequest {
    let start = plan.configuration.timeSource.now()
    current.wasTransferred = false
    defer { current.preparation += plan.configuration.timeSource.now() - start }
    let base = if let redirected { Result<_, any Error>.success(redirected) } else { try await base() }
    var request = try await adapted(base)
    request.nameCarriedSecrets()
    if let contentType = request.body.contentType, request.head.headerFields[.contentType] == nil {
      request.head.headerFields[.contentType] = contentType
    }
    latest = request
    latestURL = nil
    return request
  }

  /// Checks the request and hands it to the transport.
  private mutating func transfer(_ request: inout ResourceRequest) async throws(AttemptFailure) -> TransferResponse {
    effective = request.options
    try check(request)
    if !plan.configuration.signers.isEmpty {
      request = try await signed(request)
      redaction = redaction.adding(request)
      effective = request.options
      try check(request)
    }
    if Task.isCancelled { throw failure(.cancelled(.cancelled()), request) }
    current.wasScheduled = true
    try await tellScheduled(request)
    try checkDeadline(options: request.options, request)
    if Task.isCancelled { throw failure(.cancelled(.cancelled()), request) }
    let transfer = transferRequest(request)
    if current.firstRequest == nil { current.firstRequest = request }
    latest = request
    latestURL = request.url
    current.wasTransferred = true
    emit(.transferStarted(request))
    do throws(TransportError) {
      let answer = try await plan.transport.execute(transfer)
      current.requestSent = true
      emit(
        .transferEnded(
          .success(
            .init(response: self.answer(answer.head, to: request, facts: answer.facts), body: answer.body.bytes))))
      return answer
    } catch {
      var error = error
      // Of an attempt that sent something to an earlier hop, nobody is to read that nothing was sent.
      current.requestSent = current.requestSent || error.requestSent
      error.requestSent = current.requestSent
      emit(.transferEnded(.failure(error.redacted(by: redaction))))
      let response = error.head.map { answer($0, to: request, facts: error.facts ?? TransferFacts()) }
      throw failure(kind(of: error), request, response, facts: error.facts)
    }
  }

  /// Nothing reaches the transport that could be read in two ways, or asks for what makes no sense.
  private func check(_ request: ResourceRequest) throws(AttemptFailure) {
    do throws(TransportError) {
      try plan.checkLimits(of: request.options)
      try RequestCheck.check(request)
    } catch {
      throw failure(.noRequest(error), request)
    }
  }

  private func answer(
    _ head: HTTPResponse, to request: ResourceRequest, facts: TransferFacts
  ) -> ResourceResponse {
    var response = ResourceResponse(
      head: head, url: current.redirects.url(ofRequestTo: latestURL ?? request.url), redirects: current.redirects.urls,
      facts: facts)
    response.redaction = redaction
    return response
  }

  private mutating func transferRequest(_ request: ResourceRequest) -> TransferRequest {
    var body = request.body
    if !body.isReplayable {
      let consumption = BodyConsumption()
      current.consumption = consumption
      body = consumption.watching(body)
    }
    let timeouts = plan.timeouts(for: request.options)
    let limit = deadline(options: request.options)
    return TransferRequest(
      head: request.head, body: body, connection: request.options.connection,
      delivery: plan.delivery(for: request.options), connectTimeout: timeouts.connect, idleTimeout: timeouts.idle,
      deadline: limit?.left, deadlineCode: limit?.code ?? .totalTimeout,
      allowsResend: request.isIdempotent && body.isReplayable,
      progress: request.options.progress?.beginTransfer(totalBytesToSend: body.length),
      secrets: request.options.secrets)
  }

  /// What is left for the attempt, and the code to fail with when it passes.
  func deadline(options: RequestOptions) -> (left: Duration, code: FailureCode)? {
    let total = timeLeft(options: options)
    let attempt = plan.timeouts(for: options).attempt.map {
      $0 - (plan.configuration.timeSource.now() - current.start)
    }
    switch (attempt, total) {
    case (nil, nil): return nil
    case (let attempt?, nil): return (attempt, .attemptTimeout)
    case (nil, let total?): return (total, .totalTimeout)
    case (let attempt?, let total?): return attempt < total ? (attempt, .attemptTimeout) : (total, .totalTimeout)
    }
  }

  private func checkDeadline(options: RequestOptions, _ request: ResourceRequest? = nil) throws(AttemptFailure) {
    guard let limit = deadline(options: options), limit.left <= .zero else { return }
    let name = limit.code == .totalTimeout ? "total" : "attempt"
    throw failure(
      .transport(
        TransportError(
          stage: .timeout, code: limit.code, message: "the \(name) timeout passed before the request was sent",
          hint: "raise Timeouts.\(name), or find what made it wait", requestSent: current.requestSent)),
      request)
  }

  /// Tells failures of the answer from success, and brings the body into the shape that decoding expects.
  private mutating func judged(_ exchange: inout Exchange) async throws(AttemptFailure) -> ResponseBody {
    let status = exchange.response.status
    guard (200...299).contains(status.code) else { throw await badStatus(exchange) }
    if exchange.request.head.method == .head || status == .noContent || status == .resetContent {
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
      throw failure(.noData(status), exchange.request, exchange.response)
    }
    return ResponseBody(bytes)
  }

  private mutating func observed(_ body: ResponseBody) -> ResponseBody {
    guard !plan.configuration.observers.isEmpty || effective.progress != nil else { return body }
    let observed = ObservedBody(
      body, observers: plan.configuration.observers, time: plan.configuration.timeSource, callID: callID,
      attempt: attempts.count + 1, hop: current.redirects.hops, operation: effective.operation,
      progress: effective.progress)
    observedBody = observed
    return ResponseBody(source: observed)
  }

  private func badStatus(_ exchange: Exchange) async -> AttemptFailure {
    var body = exchange.body.bytes
    if body == nil {
      // The status is what matters: a body that cannot be read does not hide it.
      body = try? await exchange.body.collect(upTo: plan.configuration.maximumErrorBodyBytes)
    }
    if exchange.request.head.method == .head { body = Data() }
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

  private func undecodable(_ error: any Error, _ exchange: Exchange, _ body: Data) -> AttemptFailure {
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
