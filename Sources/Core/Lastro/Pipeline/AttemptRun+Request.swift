// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

// The stages before the transport, in the order in which they run. The stages that wait are in
// `AttemptRun+Hooks.swift`.

extension AttemptRun {
  func begin() throws(AttemptFailure) {
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
