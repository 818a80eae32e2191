// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

// The stages from the transport on, in their order.

/// What the last transfer of an attempt brought.
struct Exchange: Sendable {
  let request: ResourceRequest
  let status: Int
  var response: ResourceResponse
  var body: ResponseBody
}

extension AttemptRun {
  /// Whether the transport left a body to be read that is the value, or that the value is made of.
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

  /// Reads the body into memory: the answer is then as a transport that collects gives it, or fails to.
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

  func receive(_ answer: TransferResponse, to request: ResourceRequest) -> Exchange {
    requestSent = requestSent || !answer.facts.isFromCache
    let response = self.response(answer.head, to: request, facts: answer.facts)
    call.emit(.transferEnded(.success(.init(response: response, body: answer.body.bytes))), of: self)
    return Exchange(request: request, status: answer.statusCode, response: response, body: answer.body)
  }

  private func response(_ head: HTTPResponse, to request: ResourceRequest, facts: TransferFacts) -> ResourceResponse {
    ResourceResponse(
      head: head, to: request, url: redirects.map { $0.url(ofRequestTo: request.url) },
      redirects: redirects?.urls ?? [], facts: facts, redaction: redaction)
  }

  func failure(of error: TransportError, _ request: ResourceRequest) -> AttemptFailure {
    var error = error
    // The error must not claim that nothing was sent when an earlier hop of the attempt sent something.
    requestSent = requestSent || error.requestSent
    error.requestSent = requestSent
    call.emit(.transferEnded(.failure(error.redacted(by: redaction))), of: self)
    let response = error.head.map { self.response($0, to: request, facts: error.facts ?? TransferFacts()) }
    return failure(kind(of: error), request, response, facts: error.facts)
  }

  /// The request that an answer redirects to, if it does.
  func redirect(_ exchange: Exchange) throws(AttemptFailure) -> ResourceRequest? {
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

  /// Tells failures of the answer from success: that nothing has changed is the answer to a request that asked so.
  func isSuccess(_ exchange: Exchange) -> Bool {
    (200...299).contains(exchange.status) || plan.acceptance == .upgrade && exchange.status == 101
      || exchange.status == 304 && exchange.request.isConditional
  }

  private func isEmpty(_ exchange: Exchange) -> Bool { Self.isEmpty(exchange.status, exchange.request.head.method) }

  private static func isEmpty(_ status: Int, _ method: HTTPRequest.Method) -> Bool {
    [204, 205, 304].contains(status) || method == .head
  }

  /// Makes the value of a 2xx answer, and accounts for the attempt.
  func finish(
    _ exchange: inout Exchange, _ decode: FetchCall.Decode, _ decodeError: FetchCall.DecodeError
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
    if plan.isStream { exchange.body = observed(exchange.body) }
    do {
      try decode(exchange.body, exchange.response)
    } catch {
      // A model that has no place for nothing is told the status.
      guard exchange.status != 304 else {
        throw failure(.http(.notModified), exchange.request, exchange.response, facts: exchange.response.facts)
      }
      throw undecodable(error, exchange, decodeError)
    }
    account(for: &exchange)
    if Task.isCancelled {
      throw failure(.cancelled(.cancelled(requestSent: requestSent)), exchange.request, facts: exchange.response.facts)
    }
    call.emit(.attemptEnded(exchange.response.attempts.last ?? Attempt(outcome: .succeeded)), of: self)
  }

  private func account(for exchange: inout Exchange) {
    let now = now()
    exchange.response.account(
      for: SuccessAccount(
        callID: call.callID, earlier: call.attempts, operation: options.operation, idempotencyKey: idempotencyKey,
        limit: plan.timeouts(for: options).total, elapsed: now - call.start, start: start - call.start,
        duration: now - start, preparation: preparation, cause: cause, requestSent: requestSent))
    // Written at once, which is rare, so that no account has a place for it.
    guard let notes = redirects?.notes, !notes.isEmpty else { return }
    exchange.response.ledger = exchange.response.ledger.noting(notes)
  }

  private func observed(_ body: ResponseBody) -> ResponseBody {
    guard !plan.configuration.observers.isEmpty || options.progress != nil else { return body }
    let observed = ObservedBody(
      body, observers: plan.configuration.observers, time: plan.configuration.timeSource, callID: call.callID,
      attempt: earlier + 1, hop: hops, operation: options.operation, progress: options.progress)
    observedBody = observed
    return ResponseBody(source: observed)
  }

  /// The failure of an answer that is a value if no interceptor wants another attempt: whole, or to be streamed.
  func unsettled(_ exchange: Exchange) -> AttemptFailure {
    var exchange = exchange
    if isEmpty(exchange) {
      exchange.body.cancel()
      exchange.body = ResponseBody(Data())
    }
    return failure(
      .http(exchange.response.status), exchange.request, exchange.response, body: plan.kept(exchange.body.bytes),
      facts: exchange.response.facts, answer: exchange)
  }

  /// Hands over the answer that a call ended with.
  func settle(_ answer: Exchange, _ error: HTTPFetchError<any Error>) -> Exchange {
    var answer = answer
    answer.response.ledger = error.ledger
    if plan.isStream { answer.body = observed(answer.body) }
    call.emit(.callEnded(.success(answer.response)), of: self)
    if let observedBody { observedBody.begin() } else { options.progress?.finish() }
    return answer
  }

  func badStatus(_ exchange: Exchange, _ decodeError: FetchCall.DecodeError) async -> AttemptFailure {
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

  /// The body of an answer outside 200–299, and why it is not whole, where it is not. The status is what matters: a
  /// body that cannot be read does not hide it.
  private func errorBody(of exchange: Exchange) async -> (body: Data, cut: BodyCut?) {
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
    _ error: any Error, _ exchange: Exchange, _ decodeError: FetchCall.DecodeError
  ) -> AttemptFailure {
    let body = exchange.body.bytes ?? Data()
    let decodeFailure = DecodeFailure(
      error, payload: body, metadata: exchange.response, snippetBytes: plan.configuration.bodySnippetBytes)
    // Some APIs answer 200 with an error in the body.
    let apiError = try? decodeError(body, exchange.response)
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
