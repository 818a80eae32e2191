// SPDX-License-Identifier: Apache-2.0

// Request makers and interceptors are other people's code: they may wait for long, and may ignore cancellation. The
// call goes on without those that overstay.

extension FetchCall {
  /// How long hooks have to return that are told of a failure when the caller is gone, or the deadline has passed.
  private static var grace: Duration { .seconds(1) }

  /// The base request of an attempt, as interceptors get it.
  func base() async throws(AttemptFailure) -> Result<ResourceRequest, any Error> {
    let making = plan.baseRequestMaking
    let made: Result<ResourceRequest, any Error>
    if making.waits {
      made = try await inTime("the base request maker") { await Self.result(of: making) }
    } else {
      made = await Self.result(of: making)
    }
    guard case .success(var request) = made else { return made }
    request.options = plan.options.overriding(request.options)
    effective = request.options
    // Until interceptors have had their say again, what they said of limits the last time holds.
    if let timeouts = latest?.options.timeouts { effective.timeouts = timeouts }
    if let progress = latest?.options.progress { effective.progress = progress }
    redaction = redaction.adding(request)
    do throws(TransportError) {
      try addIdempotencyKey(to: &request)
    } catch {
      return .failure(error)
    }
    // Where nothing comes of it, this is what could not be sent.
    if latest == nil { latest = request }
    for observer in plan.configuration.observers {
      for field in observer.propagationFields(callID: callID, attempt: attempts.count + 1) {
        request.head.headerFields[field.name] = field.value
      }
    }
    return .success(request)
  }

  private static func result(
    of making: BaseRequestMaking<ResourceRequest>
  ) async -> Result<ResourceRequest, any Error> {
    do { return .success(try await making.make()) } catch { return .failure(error) }
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

  /// Lets every interceptor adapt the request.
  func adapted(
    _ base: Result<ResourceRequest, any Error>
  ) async throws(AttemptFailure) -> ResourceRequest {
    if !plan.hooks.contains(.makeRequest), case .success(let request) = base { return request }
    let interceptors = plan.interceptors
    let context = context
    let redirects = current.redirects
    let redaction = redaction
    let adapted: Adapted
    if plan.waitingHooks.contains(.makeRequest) {
      adapted = try await inTime("an interceptor that makes the request") {
        await Self.adapt(base, interceptors, context, redirects, redaction)
      }
    } else {
      adapted = await Self.adapt(base, interceptors, context, redirects, redaction)
    }
    current.redirects = adapted.redirects
    self.redaction = adapted.redaction
    switch adapted.result {
    case .success(let request): return request
    case .failure(let error): throw failure(.noRequest(error), try? base.get())
    }
  }

  /// A request, and what was learned while it was adapted.
  private typealias Adapted = (
    result: Result<ResourceRequest, any Error>, redirects: RedirectTracker, redaction: Redaction
  )

  private static func adapt(
    _ base: Result<ResourceRequest, any Error>, _ interceptors: InterceptorChain, _ context: AttemptContext,
    _ redirects: RedirectTracker, _ redaction: Redaction
  ) async -> Adapted {
    var result = base
    var redirects = redirects
    var redaction = redaction
    for link in interceptors.links where link.hooks.contains(.makeRequest) {
      let interceptor = link.interceptor
      let adapted = await interceptor.interceptMakeRequest(result, context: context)
      // Whatever the next interceptor throws about it.
      if case .success(let request) = adapted { redaction = redaction.adding(request) }
      guard redirects.hasLeftOrigin, case .success(let request) = adapted else {
        result = adapted
        continue
      }
      result = .success(
        redirects.guarding(request, previous: try? result.get(), trusted: interceptor.credentialOrigins))
    }
    return (result, redirects, redaction)
  }

  /// Lets the signers sign what is about to be sent.
  func signed(_ request: ResourceRequest) async throws(AttemptFailure) -> ResourceRequest {
    let start = plan.configuration.timeSource.now()
    defer { current.preparation += plan.configuration.timeSource.now() - start }
    let signers = plan.configuration.signers
    let context = context
    let result = try await inTime("a signer", request) {
      do {
        return Result<ResourceRequest, any Error>.success(
          try await Lastro.signed(request, by: signers, context: context))
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let signed): return signed
    case .failure(let error): throw failure(.noRequest(error), request)
    }
  }

  /// Tells the interceptors that a request is about to be handed over.
  func tellScheduled(_ request: ResourceRequest) async throws(AttemptFailure) {
    guard plan.hooks.contains(.scheduled) else { return }
    let interceptors = plan.interceptors
    let context = context
    if plan.waitingHooks.contains(.scheduled) {
      try await inTime("an interceptor that was told of the request", request) {
        for link in interceptors.links where link.hooks.contains(.scheduled) {
          await link.interceptor.interceptScheduled(request, context: context)
        }
      }
    } else {
      for link in interceptors.links where link.hooks.contains(.scheduled) {
        await link.interceptor.interceptScheduled(request, context: context)
      }
    }
  }

  /// Tells the interceptors of a success, which stands whatever they do.
  func tellSucceeded(_ exchange: Exchange) async {
    guard plan.hooks.contains(.succeeded) else { return }
    let interceptors = plan.interceptors
    let context = context
    let request = exchange.request
    let response = exchange.response
    let body = exchange.body.bytes
    if plan.waitingHooks.contains(.succeeded) {
      let left = timeLeft(options: effective).map { max($0, Self.grace) }
      _ = await interruptible(within: left, time: plan.configuration.timeSource) {
        for link in interceptors.links where link.hooks.contains(.succeeded) {
          await link.interceptor.interceptSucceeded(request, response: response, body: body, context: context)
        }
      }
    } else {
      for link in interceptors.links where link.hooks.contains(.succeeded) {
        await link.interceptor.interceptSucceeded(request, response: response, body: body, context: context)
      }
    }
  }

  /// What the interceptors want done about a failure; `nil` when they did not say in time.
  func opinion(
    on failure: AttemptFailure, _ error: HTTPFetchError<any Error>, _ context: AttemptContext
  ) async -> Retry.Action? {
    let interceptors = plan.interceptors
    let priority = plan.retryActionPriority
    guard plan.waitingHooks.contains(.failed) else {
      return await Self.opinion(on: failure, error, context, interceptors, priority)
    }
    let isCancelled = error.isCancelled || Task.isCancelled
    let left = isCancelled ? Self.grace : timeLeft(options: effective).map { max($0, Self.grace) }
    let answer = await interruptible(
      within: left, ignoringCancellation: isCancelled, time: plan.configuration.timeSource
    ) {
      await Self.opinion(on: failure, error, context, interceptors, priority)
    }
    return try? answer.get()
  }

  private static func opinion(
    on failure: AttemptFailure, _ error: HTTPFetchError<any Error>, _ context: AttemptContext,
    _ interceptors: InterceptorChain, _ priority: Retry.Action.CompareClosure
  ) async -> Retry.Action {
    var action = Retry.Action.none
    for link in interceptors.links {
      var opinion = Retry.Action.none
      if link.hooks.contains(.failed) {
        opinion = await link.interceptor.interceptFailed(
          failure.request, response: error.response, body: failure.body, error: error, context: context)
      }
      // Also interceptors without an opinion: a resource's own priority may make something of that.
      action = priority(action, opinion)
    }
    return action
  }

  /// Waits for other people's code for as long as the attempt may take.
  private func inTime<Value: Sendable>(
    _ name: String, _ request: ResourceRequest? = nil, _ operation: @escaping @Sendable () async -> Value
  ) async throws(AttemptFailure) -> Value {
    let limit = deadline(options: effective)
    // When the time is over already, a race between a hook and a timer must not decide.
    let isOver = limit.map { $0.left <= .zero } ?? false
    let answer =
      isOver
      ? .failure(.limit)
      : await interruptible(within: limit?.left, time: plan.configuration.timeSource, operation)
    switch answer {
    case .success(let value): return value
    case .failure(.cancelled): throw failure(.cancelled(.cancelled(requestSent: current.requestSent)), request)
    case .failure(.limit):
      let error = TransportError.deadlinePassed(
        limit?.code ?? .totalTimeout, of: limit?.whole, "while \(name) was waited for", requestSent: current.requestSent
      )
      throw failure(.transport(error), request)
    }
  }
}
