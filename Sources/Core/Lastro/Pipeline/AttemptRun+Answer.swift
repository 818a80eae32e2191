// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes

// The stages after the transport's response, in the order in which they run.

/// The result of an attempt's last transfer.
struct ReceivedResponse: Sendable {
  let request: ResourceRequest
  let status: Int
  var response: ResourceResponse
  var body: ResponseBody
}

extension AttemptRun {
  /// Returns whether the body still has to be collected: the transport returned it as a stream, but the value of the
  /// call needs it in memory.
  func leavesBody(_ answer: TransferResponse, to request: ResourceRequest) -> Bool {
    guard !plan.isStream, !answer.body.isCollected(upTo: limit(of: request)) else { return false }
    let status = answer.statusCode
    guard status != 101, !Self.isEmpty(status, request.head.method) else { return false }
    guard plan.acceptance == .all else { return (200...299).contains(status) }
    return (request.options.redirects ?? plan.configuration.redirects).limit == 0 || !answer.head.isRedirect
  }

  private func limit(of request: ResourceRequest) -> Int {
    request.options.maximumBodyBytes ?? plan.configuration.maximumBodyBytes
  }

  /// Reads the body into memory. The response is then the same as from a transport that collects bodies, and failures
  /// are reported in the same way.
  func collect(_ answer: inout TransferResponse, to request: ResourceRequest) async throws(TransportError) {
    let body = answer.body
    do throws(TransportError) {
      answer.body = ResponseBody(try await body.collect(upTo: limit(of: request)))
      answer.facts.complete(by: body.finalFacts)
    } catch {
      var error = error
      error.requestSent = true
      error.head = error.head ?? answer.head
      answer.facts.complete(by: error.facts)
      error.facts = answer.facts
      throw error
    }
  }

  func receive(_ answer: TransferResponse, to request: ResourceRequest) -> ReceivedResponse {
    requestSent = requestSent || !answer.facts.isFromCache
    let facts = answer.facts.noting(request.options.notes)
    let response = self.response(answer.head, to: request, facts: facts)
    call.emit(.transferEnded(.success(.init(response: response, body: answer.body.bytes))), of: self)
    return ReceivedResponse(request: request, status: answer.statusCode, response: response, body: answer.body)
  }

  private func response(_ head: HTTPResponse, to request: ResourceRequest, facts: TransferFacts) -> ResourceResponse {
    ResourceResponse(
      head: head, to: request, url: redirects.map { $0.url(ofRequestTo: request.url) },
      redirects: redirects?.urls ?? [], facts: facts, redaction: redaction)
  }

  func failure(of error: TransportError, _ request: ResourceRequest) -> AttemptFailure {
    var error = error
    // The error must not report that nothing was sent if an earlier hop of the attempt sent a request.
    requestSent = requestSent || error.requestSent
    error.requestSent = requestSent
    let notes = request.options.notes
    if !notes.isEmpty { error.facts = (error.facts ?? TransferFacts()).noting(notes) }
    call.emit(.transferEnded(.failure(error.redacted(by: redaction))), of: self)
    let response = error.head.map { self.response($0, to: request, facts: error.facts ?? TransferFacts()) }
    return failure(kind(of: error), request, response, facts: error.facts)
  }

  /// Returns the request for the redirect if the response is one.
  func redirect(_ exchange: ReceivedResponse) throws(AttemptFailure) -> ResourceRequest? {
    guard (300...308).contains(exchange.status) else { return nil }
    var tracker = redirects ?? RedirectTracker()
    do throws(TransportError) {
      let policy = exchange.request.options.redirects ?? plan.configuration.redirects
      let (head, notes) = (exchange.response.head, exchange.response.facts.notes)
      let changes = notes.contains { $0.name == "cookies" && $0.detail == "changed" }
      guard let next = try tracker.next(after: head, to: exchange.request, policy: policy, changesCookies: changes)
      else { return nil }
      tracker.notes += exchange.response.facts.notes
      redirects = tracker
      redirectedFrom = exchange.response
      exchange.body.cancel()
      wasTransferred = false
      preparationStart = now()
      return next
    } catch {
      throw failure(.redirect(error), exchange.request, exchange.response, facts: exchange.response.facts)
    }
  }

  /// Returns whether the response is a success. A 304 is a success if the request was conditional.
  func isSuccess(_ exchange: ReceivedResponse) -> Bool {
    (200...299).contains(exchange.status) || plan.acceptance == .upgrade && exchange.status == 101
      || exchange.status == 304 && exchange.request.isConditional
  }

  private func isEmpty(_ exchange: ReceivedResponse) -> Bool {
    Self.isEmpty(exchange.status, exchange.request.head.method)
  }

  private static func isEmpty(_ status: Int, _ method: HTTPRequest.Method) -> Bool {
    [204, 205, 304].contains(status) || method == .head
  }

  /// Makes the value from a successful response, and records the attempt.
  func decodeValue(
    from exchange: inout ReceivedResponse, _ decode: FetchCall.Decode, _ decodeError: FetchCall.DecodeError
  ) throws(AttemptFailure) {
    if isEmpty(exchange) {
      exchange.body.cancel()
      exchange.body = ResponseBody(Data())
    } else if exchange.request.options.requiresBody {
      if exchange.body.bytes?.isEmpty ?? false {
        throw failure(.noData(exchange.response.status), exchange.request, exchange.response)
      }
      exchange.body = exchange.body.required(of: exchange.response.status)
    }
    if plan.isStream { exchange.body = observed(exchange.body, of: exchange.request) }
    do {
      try decode(exchange.body, exchange.response)
    } catch {
      // If the model cannot represent an unchanged resource, report the status instead of a decoding error.
      guard exchange.status != 304 else {
        throw failure(.http(.notModified), exchange.request, exchange.response, facts: exchange.response.facts)
      }
      if let refusal = error as? APIErrorInSuccess {
        throw failure(
          .http(exchange.response.status), exchange.request, exchange.response, body: plan.kept(exchange.body.bytes),
          apiError: refusal.error, facts: exchange.response.facts)
      }
      throw undecodable(error, exchange, decodeError)
    }
    account(for: &exchange)
    if Task.isCancelled {
      throw failure(.cancelled(.cancelled(requestSent: requestSent)), exchange.request, facts: exchange.response.facts)
    }
    call.emit(.attemptEnded(exchange.response.attempts.last ?? Attempt(outcome: .succeeded)), of: self)
  }

  private func account(for exchange: inout ReceivedResponse) {
    let now = now()
    exchange.response.account(
      for: SuccessAccount(
        callID: call.callID, earlier: call.attempts, operation: options.operation, idempotencyKey: idempotencyKey,
        limit: plan.timeouts(for: options).total, elapsed: now - call.start, start: start - call.start,
        duration: now - start, preparation: preparation, cause: cause, requestSent: requestSent))
    // Redirect notes are rare. Build the ledger here, so that `SuccessAccount` needs no storage for them.
    guard let notes = redirects?.notes, !notes.isEmpty else { return }
    exchange.response.ledger = exchange.response.ledger.noting(notes)
  }

  /// Returns the body for its reader: its errors name the request, and observers see its end.
  private func observed(_ body: ResponseBody, of request: ResourceRequest) -> ResponseBody {
    let name = { @Sendable [redaction] in redaction.text(request.summary(redaction)) }
    guard !plan.configuration.observers.isEmpty || options.progress != nil else { return body.naming(name) }
    let observed = ObservedBody(
      body, observers: plan.configuration.observers, time: plan.configuration.timeSource, callID: call.callID,
      attempt: earlier + 1, hop: hops, operation: options.operation, progress: options.progress)
    observedBody = observed
    return ResponseBody(source: observed).naming(name)
  }

  /// Returns the failure for a response that becomes the value of the call if no interceptor asks for another attempt.
  /// Its body is complete, or is streamed.
  func unsettled(_ exchange: ReceivedResponse) -> AttemptFailure {
    var exchange = exchange
    if isEmpty(exchange) {
      exchange.body.cancel()
      exchange.body = ResponseBody(Data())
    }
    return failure(
      .http(exchange.response.status), exchange.request, exchange.response, body: plan.kept(exchange.body.bytes),
      facts: exchange.response.facts, answer: exchange)
  }

  /// Returns the response with which the call ended, and reports the end of the call.
  func settle(_ answer: ReceivedResponse, _ error: HTTPFetchError<any Error>) -> ReceivedResponse {
    var answer = answer
    answer.response.ledger = error.ledger
    if plan.isStream { answer.body = observed(answer.body, of: answer.request) }
    call.emit(.callEnded(.success(answer.response)), of: self)
    if let observedBody { observedBody.markCallSuccessful() } else { options.progress?.finish() }
    return answer
  }

  func badStatus(_ exchange: ReceivedResponse, _ decodeError: FetchCall.DecodeError) async -> AttemptFailure {
    var exchange = exchange
    let (body, cut) = await errorBody(of: exchange)
    if let cut { exchange.response.facts.bodyCut = cut }
    let decoded = Result { try decodeError(body, exchange.response) }
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

  /// Returns the body of a response outside 200–299 and, if the body is incomplete, the reason. A body that cannot be
  /// read does not hide the status, which is more important.
  private func errorBody(of exchange: ReceivedResponse) async -> (body: Data, cut: BodyCut?) {
    if exchange.request.head.method == .head {
      exchange.body.cancel()
      return (Data(), nil)
    }
    let limit = max(0, plan.configuration.maximumErrorBodyBytes)
    let told = exchange.response.facts.bodyCut
    if let bytes = exchange.body.bytes { return (bytes, told ?? (bytes.count > limit ? .limit(limit) : nil)) }
    var body = Data()
    do throws(TransportError) {
      for try await chunk in exchange.body {
        let room = limit - body.count
        body.append(chunk.prefix(room))
        if chunk.count > room {
          exchange.body.cancel()
          return (body, .limit(limit))
        }
      }
    } catch {
      return (body, BodyCut(error))
    }
    return (body, told)
  }

  private func undecodable(
    _ error: any Error, _ exchange: ReceivedResponse, _ decodeError: FetchCall.DecodeError
  ) -> AttemptFailure {
    let body = exchange.body.bytes ?? Data()
    let decodeFailure = DecodeFailure(
      error, payload: body, metadata: exchange.response, snippetBytes: plan.configuration.bodySnippetBytes)
    // Some APIs respond with status 200 and an error in the body.
    let apiError = error is any PayloadRefusal ? nil : try? decodeError(body, exchange.response)
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
}
