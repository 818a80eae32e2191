// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import TestSupport

@testable import Lastro

/// A simulated call: server, clock, caller, hooks, and a record of their behavior.
final class SimulatedCall: Sendable {
  /// A request that reached the transport.
  struct Execution: Sendable {
    var attempt: Int
    var start: Duration
    var end = Duration.zero
    var deadline: Duration?
    var origin: Origin?
    var key: String?
    var status: Int?
    var failure: TransportError?
    var wasSent = false
    /// The fields of the answer.
    var fields = HTTPFields()
    /// The date before which no client may retry.
    var until: Duration?
  }

  struct State {
    var executions: [Execution] = []
    var attempt = 0
    var cancel: (@Sendable () -> Void)?
    var isCancelled = false
    var opens = 0
    /// The places of hooks that were abandoned.
    var abandoned: Set<String> = []
    var completions = 0
    var events: [String] = []
    /// The failures as an interceptor receives them, and their sequels.
    var failures: [SimulatedFailure] = []
    var firstRequest: ResourceRequest?
    var outcome: Result<ResourceResponse, HTTPFetchError<any Error>>?
  }

  let scenario: Scenario
  let quota: RetryQuota?
  let origin = try? Origin("https://lab.example/")
  private let state = Lock(State())
  private let clockBox = Lock(SimulatedClock())

  init(_ scenario: Scenario) throws {
    self.scenario = scenario
    quota = try scenario.quota.map {
      try RetryQuota(capacity: $0.capacity, cost: $0.cost, throttledCost: $0.throttledCost)
    }
    if let origin, let spent = scenario.quota?.spent { _ = quota?.pay(spent, for: origin) }
    let clock = SimulatedClock { [weak self] index in
      if index == scenario.cancelledSleep { self?.cancel() }
    }
    clockBox.withLock { $0 = clock }
  }

  var clock: SimulatedClock { clockBox.withLock { $0 } }
  var seen: State { state.withLock { $0 } }
  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Cancels the call, as its caller does.
  func cancel() {
    let cancel = state.withLock { state in
      state.isCancelled = true
      return state.cancel
    }
    cancel?()
  }

  // MARK: the caller

  /// Runs the call to its end.
  func run() async throws {
    let stack = Gated(stack: try stack())
    let resource = try resource()
    if scenario.usesCallback {
      await withCheckedContinuation { continuation in
        let handle = stack.fetch(resource) { self.complete($0.map(\.response), continuation) }
        begin(stack.gate) { handle.cancel() }
      }
    } else {
      await withCheckedContinuation { continuation in
        let task = Task {
          let result: Result<ResourceResponse, HTTPFetchError<any Error>>
          do throws(HTTPFetchError<any Error>) {
            result = .success(try await stack.fetch(resource).response)
          } catch {
            result = .failure(error)
          }
          self.complete(result, continuation)
        }
        begin(stack.gate) { task.cancel() }
      }
    }
    clock.close()
  }

  private func begin(_ gate: AsyncStream<Void>.Continuation, _ cancel: @escaping @Sendable () -> Void) {
    state.withLock { $0.cancel = cancel }
    if scenario.isCancelledBefore { self.cancel() }
    gate.finish()
  }

  private func complete(
    _ result: Result<ResourceResponse, HTTPFetchError<any Error>>, _ continuation: CheckedContinuation<Void, Never>
  ) {
    let isFirst = state.withLock { state in
      state.completions += 1
      state.outcome = result
      return state.completions == 1
    }
    if isFirst { continuation.resume() }
  }

  /// A stack whose calls begin when its gate opens, so that the caller can cancel from the start.
  private struct Gated: NetworkStack {
    typealias Request = ResourceRequest
    let stack: TransportNetworkStack
    let gate: AsyncStream<Void>.Continuation
    private let closed: AsyncStream<Void>

    init(stack: TransportNetworkStack) {
      self.stack = stack
      (closed, gate) = AsyncStream.makeStream()
    }

    func fetch(
      _ resource: RawHTTPResource
    ) async throws(HTTPFetchError<any Error>) -> Fetched<Data, ResourceResponse> {
      for await _ in closed {}
      return try await stack.fetch(resource)
    }
  }

  // MARK: what is configured

  private let rules = Lock(StackConfiguration())
  var configuration: StackConfiguration { rules.withLock { $0 } }

  private func stack() throws -> TransportNetworkStack {
    var configuration = StackConfiguration()
    configuration.timeouts = try Timeouts(
      connect: nil, attempt: scenario.attempt, idle: nil, total: scenario.total)
    configuration.maximumRetryAfter = scenario.maximumRetryAfter
    configuration.maximumAttempts = scenario.maximumAttempts
    configuration.retryQuota = quota
    configuration.randomSource = .seeded(scenario.seed)
    configuration.timeSource = clock.source
    configuration.observers = [Observer(call: self)]
    configuration.interceptors = [FailureWitness(call: self)]
    rules.withLock { $0 = configuration }
    return TransportNetworkStack(
      transport: ScriptedTransport { (request) throws(TransportError) in try await self.answer(request) },
      configuration: configuration)
  }

  private func resource() throws -> RawHTTPResource {
    var options = RequestOptions()
    options.idempotency = scenario.idempotency
    var request = try ResourceRequest(
      method: scenario.method, url: "https://lab.example/a", body: body, options: options)
    if scenario.hasKeyField { request.head.headerFields[.idempotencyKey] = "field-\(scenario.seed)" }
    let base = request
    let making: BaseRequestMaking<ResourceRequest> =
      scenario.makerWaits
      ? BaseRequestMaking {
        try await self.place("maker", self.attemptNumber, waits: true, isTimed: self.isTimed)
        return base
      } : .request(base)
    let waits = scenario.guests.contains { if case .hooks(true) = $0 { true } else { false } }
    let interceptors = try scenario.guests.enumerated().map { index, guest -> any HTTPResourceInterceptor in
      switch guest {
      case .policy(let policy, let isBare):
        let made = try policy.made(scenario.seed &+ UInt64(index))
        return isBare ? made : RetryInterceptor(policy: made)
      case .hooks(let hooksWait):
        return SimulatedHooks(call: self, index: index, hooksWait: hooksWait, areAwaited: waits)
      }
    }
    return RawHTTPResource(
      baseRequestMaking: making, interceptors: interceptors,
      retryActionPriority: { soFar, next in
        let action = Retry.Action.mostPrioritary(soFar, next)
        self.noteOpinion(action)
        return action
      })
  }

  var isTimed: Bool { scenario.total != nil || scenario.attempt != nil }
  var attemptNumber: Int { state.withLock { $0.attempt } }

  private var body: RequestBody {
    switch scenario.body {
    case .none: return .empty
    case .bytes: return .raw("bytes")
    case .oneShot, .replayable:
      return RequestBody(
        source: .stream(length: nil, isReplayable: scenario.body == .replayable) {
          self.state.withLock { $0.opens += 1 }
          return { nil }
        })
    }
  }

  // MARK: the server

  private func answer(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let index = state.withLock { state in
      state.executions.append(
        Execution(
          attempt: state.attempt, start: clock.now, deadline: request.deadline, origin: Origin(request.head),
          key: request.head.headerFields[.idempotencyKey]))
      return state.executions.count - 1
    }
    let answer = SimulatedAnswer(scenario, index: index)
    if answer.opensBody, case .stream(_, _, let open) = request.body.source { _ = open() }
    if answer.cancelsCaller { cancel() }
    do throws(TransportError) {
      return try reply(answer, to: request, index)
    } catch {
      note(index) {
        $0.failure = error
        $0.wasSent = error.requestSent
      }
      throw error
    }
  }

  private func reply(
    _ answer: SimulatedAnswer, to request: TransferRequest, _ index: Int
  ) throws(TransportError) -> TransferResponse {
    let isHanging = if case .hang = answer.kind { true } else { false }
    if let deadline = request.deadline, isHanging || answer.latency >= deadline {
      clock.advance(by: deadline)
      throw TransportError(
        stage: .timeout, code: request.deadlineCode, message: "simulated", requestSent: true, facts: TransferFacts())
    }
    if !isHanging { clock.advance(by: answer.latency) }
    switch answer.kind {
    case .hang:
      // The cancellation is the only event that ends this call.
      cancel()
      throw TransportError(
        stage: .cancelled, code: .cancelled, message: "simulated", requestSent: true, facts: TransferFacts())
    case .failure(let stage, let code, let sent):
      throw TransportError(
        stage: stage, code: code, message: "simulated", requestSent: sent, facts: TransferFacts())
    case .status(let status):
      let patience = answer.patience(now: SimulatedClock.epoch + clock.now)
      return respond(status, patience.fields, index, until: patience.until)
    case .redirect(let status, let location): return respond(status, [.location: location], index, until: nil)
    }
  }

  private func respond(_ status: Int, _ fields: HTTPFields, _ index: Int, until: Duration?) -> TransferResponse {
    note(index) {
      $0.status = status
      $0.wasSent = true
      $0.fields = fields
      $0.until = until
    }
    return TransferResponse(
      head: HTTPResponse(status: .init(code: status), headerFields: fields), body: ResponseBody(Data("{}".utf8)))
  }

  private func note(_ index: Int, _ change: (inout Execution) -> Void) {
    state.withLock {
      change(&$0.executions[index])
      $0.executions[index].end = clock.now
    }
  }

  // MARK: other people's code

  /// Plays the random event at a hook. Most often no event happens.
  ///
  /// - Parameters:
  ///   - waits: whether the hook may suspend; the call then waits for it in a task of its own.
  ///   - isTimed: whether that wait has a limit.
  func place(_ name: String, _ number: Int, index: Int = 9, waits: Bool, isTimed: Bool) async throws {
    let dice = Dice(
      scenario.seed &* 31
        &+ UInt64(truncatingIfNeeded: (name + "\(number)").utf8.reduce(index) { $0 &* 131 &+ Int($1) }))
    let place = "\(name)\(number)"
    if clock.isClosed || state.withLock({ $0.abandoned.contains(place) }) { return }
    switch dice.int(0...99) {
    case 0...7: await elapse(dice.milliseconds(1...3_000), place, isCancellable: dice.chance(50), waits, isTimed)
    case 8, 9: await elapse(dice.milliseconds(1...80_000), place, isCancellable: dice.chance(50), waits, isTimed)
    case 10...11 where scenario.isRough && waits && isTimed:
      await elapse(nil, place, isCancellable: dice.chance(50), true, true)
    case 12...13 where scenario.isRough && name != "failed-gone":
      if waits { state.withLock { _ = $0.abandoned.insert(place) } }
      cancel()
      if waits { await clock.hang(isCancellable: dice.chance(50)) }
    case 14...15 where name == "maker":
      throw TestError(name: "maker")
    default: break
    }
  }

  private func elapse(_ duration: Duration?, _ place: String, isCancellable: Bool, _ waits: Bool, _ isTimed: Bool) async
  {
    // A hook that ends on cancellation does not start work that it would have to abort.
    if waits, isCancellable, isCancelled { return }
    // The place is recorded first, because the call continues while this hook hangs.
    state.withLock { _ = $0.abandoned.insert(place) }
    if await clock.elapse(duration, isLimited: waits && isTimed, isCancellable: isCancellable) {
      state.withLock { _ = $0.abandoned.remove(place) }
    }
  }

  func noteScheduled(_ request: ResourceRequest) {
    state.withLock { $0.firstRequest = $0.firstRequest ?? request }
  }

  func noteOpinion(_ action: Retry.Action) {
    state.withLock { state in
      guard let last = state.failures.indices.last, state.failures[last].sequel == nil else { return }
      state.failures[last].action = action
      state.failures[last].opinions += 1
    }
  }

  func noteFailure(_ error: HTTPFetchError<any Error>, _ request: ResourceRequest?, _ context: AttemptContext) {
    let tokens = request.flatMap { Origin($0.head) }.flatMap { quota?.tokens(of: $0) }
    state.withLock { state in
      let transfers = state.executions.count { $0.attempt == context.attempt }
      state.failures.append(
        SimulatedFailure(
          error: error, attempt: context.attempt, hops: context.hop, request: request,
          firstRequest: transfers == 0 ? nil : state.firstRequest, wasTransferred: transfers == context.hop + 1,
          isBodyConsumed: scenario.body == .oneShot && state.opens > 0, tokens: tokens))
    }
  }

  func event(_ event: FetchEvent) {
    state.withLock { state in
      switch event.kind {
      case .callStarted: state.events.append("call")
      case .attemptStarted(let number):
        state.attempt = number
        state.firstRequest = nil
        state.events.append("attempt \(number)/\(event.attempt)")
      case .transferStarted: state.events.append("transfer \(event.attempt)")
      case .transferEnded: state.events.append("transferred \(event.attempt)")
      case .attemptEnded(let attempt): state.events.append("attempted \(attempt.number)/\(event.attempt)")
      case .retryScheduled(let delay, let source, _):
        state.events.append("retry \(delay.brief) \(source)")
        state.conclude(.again(delay, source), at: event.time)
      case .callEnded(let result):
        state.events.append("called")
        if case .failure(let error) = result { state.conclude(.end(error), at: event.time) }
      default: state.events.append("other")
      }
    }
  }

  private struct Observer: FetchObserver {
    let call: SimulatedCall
    func observe(_ event: FetchEvent) { call.event(event) }
  }
}

/// Hooks of an application that is sometimes slow, and sometimes ignores cancellation.
struct SimulatedHooks: HTTPResourceInterceptor {
  let call: SimulatedCall
  let index: Int
  let hooksWait: Bool
  /// Whether the call awaits hooks in a task of their own, because of this interceptor or another.
  let areAwaited: Bool

  private func place(_ name: String, _ context: AttemptContext, isTimed: Bool) async {
    try? await call.place(
      name, context.attempt * 100 + context.hop, index: index, waits: areAwaited, isTimed: isTimed)
  }

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    await place("make", context, isTimed: call.isTimed)
    return result
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {
    await place("scheduled", context, isTimed: call.isTimed)
  }

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {
    await place("succeeded", context, isTimed: call.scenario.total != nil)
  }

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    // A cancellation error means that the caller is gone. Without it, the call may have been abandoned during an
    // earlier hook.
    if error.isCancelled {
      await place("failed-gone", context, isTimed: true)
    } else if !call.isCancelled || !areAwaited {
      await place("failed", context, isTimed: call.scenario.total != nil)
    }
    return error.statusCode?.code == 401 && context.attempt < 4 ? .retry : .none
  }
}
