// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// The stages up to the transport, in their order; those that wait are in `AttemptRun+Hooks.swift`.

extension AttemptRun {
  func begin() throws(AttemptFailure) {
    if earlier > 0 { start = now() }
    preparationStart = start
    call.emit(.attemptStarted(number: earlier + 1), of: self)
    try checkCancellation()
    try check(deadline(at: start))
  }

  /// Returns the base request, as interceptors get it.
  func makeBase(by make: () throws -> ResourceRequest) -> Result<ResourceRequest, any Error> {
    do {
      if let request = plan.baseRequestMaking.constant { return .success(try based(on: request)) }
      return .success(
        try based(on: CallContext.$callID.withValue(call.callID) { try plan.core.coding { try make() } }))
    } catch {
      return .failure(error)
    }
  }

  /// The same, with what the call adds.
  func based(on made: ResourceRequest) throws(TransportError) -> ResourceRequest {
    var request = made
    try plan.core.complete(&request, by: plan.baseRequestMaking)
    if plan.options.mayDifferFromDefaults { request.options = plan.options.overriding(request.options) }
    var options = request.options
    // Until interceptors have had their say again, what they said of limits the last time holds.
    if let latest = self.request?.options {
      if let timeouts = latest.timeouts { options.timeouts = timeouts }
      if let progress = latest.progress { options.progress = progress }
    }
    self.options = options
    if options.mayDifferFromDefaults || !request.body.secrets.isEmpty { redaction = redaction.adding(request) }
    try addIdempotencyKey(to: &request)
    // Where nothing comes of it, this is what could not be sent.
    if self.request == nil { self.request = request }
    return request
  }

  /// A key belongs to the call. An endpoint that makes a new one whenever it is asked would have the server act on
  /// every attempt, so that the first attempt's stays.
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

  /// The base request where no interceptor has a say.
  func made(_ base: Result<ResourceRequest, any Error>) throws(AttemptFailure) -> ResourceRequest {
    switch base {
    case .success(let request): return request
    case .failure(let error): throw failure(.noRequest(error))
    }
  }

  /// Adds what the body says of itself, and checks what came out.
  func complete(_ request: inout ResourceRequest) throws(AttemptFailure) {
    if !request.isChecked {
      // Asked for one by one: a look-up by name would build an index, and a change copies the request.
      if request.head.headerFields.contains(where: { $0.name == .cookie }) {
        request.head.headerFields = request.head.headerFields.withOneCookieField
      }
      request.nameCarriedSecrets()
      if let contentType = request.body.contentType, request.head.headerFields[.contentType] == nil {
        request.head.headerFields[.contentType] = contentType
      }
    }
    self.request = request
    options = request.options
    try check(request)
  }

  /// Nothing reaches the transport that could be read in two ways, or asks for what makes no sense.
  func check(_ request: ResourceRequest) throws(AttemptFailure) {
    do throws(TransportError) {
      try plan.checkLimits(of: request.options)
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

  /// The request as the transport gets it, with what is left of the time.
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
    var transfer =
      if let limit {
        plan.transferRequest(request, left: limit.left, code: limit.code, of: limit.whole)
      } else {
        plan.transferRequest(request, left: nil)
      }
    if let progress = request.options.progress {
      transfer.progress = progress.beginTransfer(totalBytesToSend: request.body.length)
    }
    return transfer
  }
}
