// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

// The stages that run code from outside the library: request makers, interceptors and signers. That code may take long
// and may ignore cancellation. When its time is over, the call continues without it.

extension AttemptRun {
  /// The minimum time that hooks get to handle a success or a failure, even past the deadline. If the caller has
  /// cancelled, they get exactly this time to handle the failure.
  private static var grace: Duration { .seconds(1) }

  /// Returns the base request from a maker that may wait.
  func makeBaseInTime() async throws(AttemptFailure) -> Result<ResourceRequest, any Error> {
    let making = plan.baseRequestMaking
    let core = plan.core
    let callID = call.callID
    let made: Result<ResourceRequest, any Error> = try await inTime("the base request maker") {
      await Result { () async throws in
        try await CallContext.$callID.withValue(callID) { try await core.coding { try await making.make() } }
      }
    }
    do { return .success(try based(on: made.get())) } catch { return .failure(error) }
  }

  /// Lets all interceptors adapt the request.
  func adapt(_ base: Result<ResourceRequest, any Error>) async throws(AttemptFailure) -> ResourceRequest {
    let interceptors = plan.interceptors
    let context = context
    let redirects = redirects
    let redaction = redaction
    let adapted: Adapted
    if plan.waitingHooks.contains(.makeRequest) {
      adapted = try await inTime("an interceptor that makes the request") {
        await Self.adapt(base, interceptors, context, redirects, redaction)
      }
    } else {
      adapted = await Self.adapt(base, interceptors, context, redirects, redaction)
    }
    self.redirects = adapted.redirects
    self.redaction = adapted.redaction
    switch adapted.result {
    case .success(let request): return request
    case .failure(let error): throw failure(.noRequest(error), try? base.get())
    }
  }

  /// A request with the redirects and the redaction after it was adapted.
  private typealias Adapted = (
    result: Result<ResourceRequest, any Error>, redirects: RedirectTracker?, redaction: Redaction
  )

  private static func adapt(
    _ base: Result<ResourceRequest, any Error>, _ interceptors: InterceptorChain, _ context: AttemptContext,
    _ redirects: RedirectTracker?, _ redaction: Redaction
  ) async -> Adapted {
    var result = base
    var redirects = redirects
    var redaction = redaction
    for (index, interceptor) in interceptors.all.enumerated() where interceptors.has(.makeRequest, at: index) {
      let adapted = await interceptor.interceptMakeRequest(result, context: context)
      // Add the request's secrets now: the next interceptor may throw an error that contains them.
      if case .success(let request) = adapted { redaction = redaction.adding(request) }
      guard redirects?.hasLeftOrigin == true, case .success(let request) = adapted else {
        result = adapted
        continue
      }
      let previous = try? result.get()
      let origins = interceptor.credentialOrigins
      result = .success(redirects?.guarding(request, previous: previous, trusted: origins) ?? request)
    }
    return (result, redirects, redaction)
  }

  /// Lets the signers sign the request that is about to be sent.
  func sign(_ request: ResourceRequest) async throws(AttemptFailure) -> ResourceRequest {
    let signers = plan.configuration.signers
    let context = context
    let result: Result<ResourceRequest, any Error> = try await inTime("a signer", request) {
      await Result { () async throws in try await Lastro.signed(request, by: signers, context: context) }
    }
    switch result {
    case .success(let signed):
      self.request = signed
      redaction = redaction.adding(signed)
      options = signed.options
      try check(signed)
      return signed
    case .failure(let error): throw failure(.noRequest(error), request)
    }
  }

  /// Refuses a token that is bound to a key if no signer has added the proof of the key, without which it is useless to
  /// everyone but a thief of the key.
  func checkProof(of request: ResourceRequest) throws(AttemptFailure) {
    guard request.options.sensitiveHeaders.contains(.authorization),
      request.head.headerFields[.authorization]?.prefix(5).lowercased() == "dpop ",
      RawHeaders(request.head.headerFields)["DPoP"] == nil
    else { return }
    let error = TransportError.refused(
      .invalidHeader, "the access token is bound to a key, and no signer has added a proof of the key",
      hint: "add a prover for the request's origin to the signers of the stack")
    throw failure(.noRequest(error), request)
  }

  /// Calls the `scheduled` hooks of interceptors before a request is passed to the transport.
  func tellScheduled(_ request: ResourceRequest) async throws(AttemptFailure) {
    try checkCancellation(request)
    wasScheduled = true
    stopPreparing(at: now())
    let interceptors = plan.interceptors
    let context = context
    if plan.waitingHooks.contains(.scheduled) {
      try await inTime("the scheduled hook of an interceptor", request) {
        for (index, interceptor) in interceptors.all.enumerated() where interceptors.has(.scheduled, at: index) {
          await interceptor.interceptScheduled(request, context: context)
        }
      }
    } else {
      for (index, interceptor) in interceptors.all.enumerated() where interceptors.has(.scheduled, at: index) {
        await interceptor.interceptScheduled(request, context: context)
      }
    }
  }

  /// Calls the `succeeded` hooks of interceptors. They cannot change the success.
  func tellSucceeded(_ exchange: ReceivedResponse) async {
    let interceptors = plan.interceptors
    let context = context
    let request = exchange.request
    let response = exchange.response
    let body = exchange.body.bytes
    if plan.waitingHooks.contains(.succeeded) {
      let left = timeLeft.map { max($0, Self.grace) }
      _ = await interruptible(within: left, time: plan.configuration.timeSource) {
        for (index, interceptor) in interceptors.all.enumerated() where interceptors.has(.succeeded, at: index) {
          await interceptor.interceptSucceeded(request, response: response, body: body, context: context)
        }
      }
    } else {
      for (index, interceptor) in interceptors.all.enumerated() where interceptors.has(.succeeded, at: index) {
        await interceptor.interceptSucceeded(request, response: response, body: body, context: context)
      }
    }
  }

  /// Returns the action of the interceptors for a failure; `nil` if they did not return in time.
  func opinion(
    on failure: AttemptFailure, _ error: HTTPFetchError<any Error>, _ context: AttemptContext
  ) async -> Retry.Action? {
    let interceptors = plan.interceptors
    let priority = plan.retryActionPriority
    let isRecorded = plan.configuration.recorder != nil
    guard plan.waitingHooks.contains(.failed) else {
      return await Self.opinion(on: failure, error, context, interceptors, priority, isRecorded)
    }
    let isCancelled = error.isCancelled || Task.isCancelled
    let left = isCancelled ? Self.grace : timeLeft.map { max($0, Self.grace) }
    let answer = await lendingStack {
      await interruptible(within: left, ignoringCancellation: isCancelled, time: plan.configuration.timeSource) {
        await Self.opinion(on: failure, error, context, interceptors, priority, isRecorded)
      }
    }
    return try? answer.get()
  }

  private static func opinion(
    on failure: AttemptFailure, _ error: HTTPFetchError<any Error>, _ context: AttemptContext,
    _ interceptors: InterceptorChain, _ priority: Retry.Action.CompareClosure, _ isRecorded: Bool
  ) async -> Retry.Action {
    var action = Retry.Action.none
    for (index, interceptor) in interceptors.all.enumerated() {
      var opinion = Retry.Action.none
      if interceptors.has(.failed, at: index) {
        opinion = await interceptor.interceptFailed(
          failure.request, response: error.response, body: failure.body, error: error, context: context)
        if isRecorded { CallTape.current?.note(opinion, of: interceptor) }
      }
      // Include interceptors without an opinion: a resource's own priority function may treat `none` in a special way.
      action = priority(action, opinion)
    }
    return action
  }

  /// Runs hooks with access to the stack, because one of them may send requests with it.
  private func lendingStack<Value: Sendable>(_ hooks: () async -> Value) async -> Value {
    guard plan.usesStack else { return await hooks() }
    return await CallingStack.$current.withValue(CallingStack(plan.core)) { await hooks() }
  }

  /// Waits for code from outside the library, at most for the remaining time of the attempt.
  private func inTime<Value: Sendable>(
    _ name: String, _ request: ResourceRequest? = nil, _ operation: @escaping @Sendable () async -> Value
  ) async throws(AttemptFailure) -> Value {
    let limit = deadline(at: now())
    // If the time is already over, do not start a race between a hook and a timer.
    let isOver = limit.map { $0.left <= .zero } ?? false
    let answer: Result<Value, Interruption> =
      isOver
      ? .failure(.limit)
      : await lendingStack {
        await interruptible(within: limit?.left, time: plan.configuration.timeSource, operation)
      }
    switch answer {
    case .success(let value): return value
    case .failure(.cancelled): throw failure(.cancelled(.cancelled(requestSent: requestSent)), request)
    case .failure(.limit):
      let error = TransportError.deadlinePassed(
        limit?.code ?? .totalTimeout, of: limit?.whole, "while waiting for \(name)", requestSent: requestSent)
      throw failure(.transport(error), request)
    }
  }
}
