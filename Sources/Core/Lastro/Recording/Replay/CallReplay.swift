// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import LastroSupport

/// Runs the pipeline of a recorded call again, with the recorded times, random numbers, requests and responses.
package struct CallReplay: Sendable {
  /// The part of a replay that performs transfers with the machines of the engine.
  package protocol Engine: Sendable {
    /// Performs a transfer.
    ///
    /// - Parameter number: the number of the transfer in the trace.
    /// - Throws: the reason why it cannot be performed.
    func perform(
      _ request: TransferRequest, number: Int
    ) throws(ReplayOmission) -> Result<TransferResponse, TransportError>
  }

  /// The result of a replay.
  package struct Outcome: Sendable {
    package var ledger: String
    package var json: String
    /// Whether the ledger is that of the recorded call, and no transfer is unfinished. Always false for a call that was
    /// changed.
    package var isEqual: Bool
    /// The number of transfers that the machines of the engine performed, of all transfers.
    package var engineTransfers: Int
    package var transfers: Int
    /// The reasons why transfers got their recorded outcome, one for each of them.
    package var omissions: [ReplayOmission]
  }

  let trace: CallTrace
  let call: RecordedCall
  let variation: ReplayVariation
  let clock: ReplayClock
  let engine: any Engine
  /// Called with a line for each event of the pipeline.
  let report: @Sendable (String) -> Void
  private let progress: Progress

  /// Creates a replay.
  ///
  /// - Parameters:
  ///   - makeEngine: creates the engine.
  ///   - report: called with a line for each event of the pipeline.
  package init(
    _ trace: CallTrace, _ variation: ReplayVariation = ReplayVariation(), report: @escaping @Sendable (String) -> Void,
    makeEngine: (ReplayClock) -> any Engine
  ) {
    self.trace = trace
    self.variation = variation
    self.report = report
    call = RecordedCall(trace)
    clock = ReplayClock(trace, isVirtual: !variation.isEmpty)
    engine = makeEngine(clock)
    progress = Progress(call.randoms)
  }

  /// Runs the call, in a task of its own, which is cancelled where the recorded call was.
  package func run() async -> Outcome { await Task { await perform() }.value }

  private func perform() async -> Outcome {
    var ledger: AttemptLedger
    do throws(HTTPFetchError<any Error>) {
      let response = try await FetchCall(plan()).run { _, _ in
        let attempt = call.attempt(progress.attempt)
        if let error = attempt?.end?.error, error.stage == .decode { throw ReplayedReason(description: error.message) }
      } _: { _, _ in
        nil
      }
      ledger = response.ledger
    } catch {
      ledger = error.ledger
    }
    // A request that was refused before it was sent may have a URL that no request can be made of again.
    if call.transfers.isEmpty, let summary = call.summary {
      ledger = ledger.requesting(summary.method, summary.url)
    }
    // A replay has no model that could fail to decode.
    ledger = ledger.numbered(trace.head.call).replacingErrors { attempt in
      guard attempt.error?.stage == .decode, let recorded = call.attempt(attempt.number)?.end?.error else {
        return attempt.error
      }
      return recorded.error
    }
    let (performed, all, omissions) = progress.counts
    return Outcome(
      ledger: "\(ledger)", json: ledger.json(),
      isEqual: "\(ledger)" == trace.ledger && ledger.json() == trace.ledgerJSON
        && !omissions.contains(.unfinished),
      engineTransfers: performed, transfers: all, omissions: omissions)
  }

  private func plan() -> FetchPlan {
    let head = trace.head
    var configuration = StackConfiguration()
    configuration.timeouts = head.timeouts.timeouts
    variation.apply(to: &configuration.timeouts)
    configuration.streamTimeouts = configuration.timeouts
    configuration.maximumBodyBytes = head.maximumBodyBytes
    configuration.maximumErrorBodyBytes = head.maximumErrorBodyBytes
    configuration.maximumAttempts = variation.maximumAttempts ?? head.maximumAttempts
    configuration.maximumRetryAfter = .nanoseconds(head.maximumRetryAfter)
    configuration.retryQuota = head.quota.flatMap {
      try? RetryQuota(capacity: $0.capacity, cost: $0.cost, throttledCost: $0.throttled)
    }
    let (progress, call, isVirtual) = (progress, call, clock.isVirtual)
    configuration.randomSource = RandomSource { progress.nextRandom() }
    configuration.timeSource = clock.source { _ in
      // The wait was cancelled if the call has no further attempt.
      if !isVirtual, call.attempts.count == progress.attempt { throw CancellationError() }
    }
    configuration.observers = [ReplayObserver(call: call, clock: clock, progress: progress, report: report)]
    if head.signs { configuration.signers = [ReplaySigner()] }
    let interceptor = ReplayInterceptor(
      call: call, variation: variation, quota: configuration.retryQuota, hooksWait: head.waitingHooks != 0,
      report: report)
    let variation = variation
    let maker: BaseRequestMaking<ResourceRequest> =
      head.makerWaits
      ? BaseRequestMaking { () async throws in try call.baseRequest(variation) }
      : BaseRequestMaking { try call.baseRequest(variation) }
    let transport = ReplayTransport(
      call: call, variation: variation, clock: clock, engine: engine, progress: progress,
      quota: configuration.retryQuota)
    let acceptance: FetchPlan.Acceptance =
      head.acceptance == "all" ? .all : head.acceptance == "upgrade" ? .upgrade : .successful
    var plan = FetchPlan(
      core: StackCore(transport: transport, configuration: configuration),
      interceptors: InterceptorChain([interceptor]),
      making: maker, options: RequestOptions(), priority: Retry.Action.mostPrioritary, isStream: head.isStream,
      acceptance: acceptance)
    plan.hooks = HookSet(rawValue: head.hooks).union([.makeRequest, .failed])
    plan.waitingHooks = HookSet(rawValue: head.waitingHooks)
    return plan
  }

  /// The position of a replay in its trace.
  final class Progress: Sendable {
    private struct State {
      var attempt = 0
      var transfers = 0
      var performed = 0
      var omissions: [ReplayOmission] = []
      var randoms: ArraySlice<UInt64>
    }

    private let state: Lock<State>

    init(_ randoms: [UInt64]) { state = Lock(State(randoms: randoms[...])) }

    var attempt: Int { state.withLock { $0.attempt } }
    var counts: (performed: Int, all: Int, omissions: [ReplayOmission]) {
      state.withLock { ($0.performed, $0.transfers, $0.omissions) }
    }

    func begin(attempt: Int) { state.withLock { $0.attempt = attempt } }
    func nextRandom() -> UInt64 { state.withLock { $0.randoms.popFirst() ?? 0 } }
    func countPerformed() { state.withLock { $0.performed += 1 } }
    func count(_ omission: ReplayOmission) { state.withLock { $0.omissions.append(omission) } }

    /// Returns the index of the next transfer.
    func nextTransfer() -> Int {
      state.withLock { state in
        defer { state.transfers += 1 }
        return state.transfers
      }
    }
  }
}

/// Reports the events of a replayed call, and moves its clock on.
private struct ReplayObserver: FetchObserver {
  let call: RecordedCall
  let clock: ReplayClock
  let progress: CallReplay.Progress
  let report: @Sendable (String) -> Void

  func observe(_ event: FetchEvent) {
    clock.passEvent()
    switch event.kind {
    case .callStarted: report("the call starts")
    case .attemptStarted(let number):
      progress.begin(attempt: number)
      report("attempt \(number) starts")
      if call.attempt(number)?.wasCancelledAtOnce == true { withUnsafeCurrentTask { $0?.cancel() } }
    case .transferStarted(let request): report("request: \(request.head.method.rawValue) \(request.url)")
    case .transferEnded(.success(let answer)): report("response: status \(answer.response.status.code)")
    case .transferEnded(.failure(let error)): report("failure: \(error)")
    case .attemptEnded(let attempt): report("attempt \(attempt.number) ends: \(attempt)")
    case .retryScheduled(let delay, _, let reason): report("retry in \(delay.brief) because of \(reason)")
    case .callEnded: report("the call ends")
    case .bodyEnded: break
    }
  }
}

/// Replaces a signer, for whose time the pipeline asked.
private struct ReplaySigner: RequestSigner {
  var origins: [Origin] { [] }

  func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest { request }
}

/// Gives the pipeline the requests of a trace, and the decisions of the interceptors of its call.
private struct ReplayInterceptor: HTTPResourceInterceptor {
  let call: RecordedCall
  let variation: ReplayVariation
  let quota: RetryQuota?
  let hooksWait: Bool
  let report: @Sendable (String) -> Void

  func interceptMakeRequest(
    _ result: Result<ResourceRequest, any Error>, context: AttemptContext
  ) async -> Result<ResourceRequest, any Error> {
    guard let attempt = call.attempt(context.attempt) ?? call.attempts.last else { return result }
    if attempt.transfers.indices.contains(context.hop) {
      let recorded = attempt.transfers[context.hop].request
      return Result { try recorded.resourceRequest(variation) }
    }
    guard let error = attempt.end?.error, context.hop == attempt.transfers.count else { return result }
    if error.stage == .cancelled { withUnsafeCurrentTask { $0?.cancel() } }
    return .failure(error.error)
  }

  func interceptScheduled(_ request: ResourceRequest, context: AttemptContext) async {}

  func interceptSucceeded(
    _ request: ResourceRequest, response: ResourceResponse, body: Data?, context: AttemptContext
  ) async {}

  func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    for opinion in call.attempt(context.attempt)?.opinions ?? [] { report("interceptor: \(opinion)") }
    if variation.retriesNothing { return .none }
    if let quota, let origin = request.flatMap({ Origin($0.head) }) {
      // Other calls may have used the quota in the meantime.
      if let left = call.attempt(context.attempt + 1)?.end?.quotaLeft {
        quota.set(left + (quota.price(of: error) ?? 0), for: origin)
      } else if call.attempts.count == context.attempt, call.end?.retryEnd?.code == "quota" {
        quota.set(0, for: origin)
      }
    }
    return call.action(after: context.attempt)
  }
}

/// Answers the requests of a replay.
private struct ReplayTransport: Transport {
  let call: RecordedCall
  let variation: ReplayVariation
  let clock: ReplayClock
  let engine: any CallReplay.Engine
  let progress: CallReplay.Progress
  let quota: RetryQuota?

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let index = progress.nextTransfer()
    let transfers = call.transfers
    guard index < transfers.count, let outcome = transfers[index].outcome else { throw .notRecorded }
    let transfer = transfers[index]
    if let tokens = transfer.tokens, let origin = Origin(request.head) { quota?.set(tokens, for: origin) }
    if let code = outcome.error?.code, variation.without.contains(code) { throw .notRecorded }
    if variation.withoutCache, outcome.facts?.facts.isFromCache == true { throw .notRecorded }
    let result: Result<TransferResponse, TransportError>
    do throws(ReplayOmission) {
      result = try await performed(transfer, outcome, request)
      progress.countPerformed()
    } catch {
      progress.count(error)
      return try recorded(outcome, for: request)
    }
    return try result.map { noting($0, outcome.facts) }.mapError { noting($0, outcome.error?.facts) }.get()
  }

  /// Performs a transfer on the engine.
  private func performed(
    _ transfer: RecordedCall.Transfer, _ outcome: TraceEvent, _ request: TransferRequest
  ) async throws(ReplayOmission) -> Result<TransferResponse, TransportError> {
    var streams = false
    if case .stream(_, _, let open) = request.body.source, outcome.error?.requestSent ?? true {
      // The pipeline must see that the body was read.
      _ = try? await open()()
      streams = true
    }
    let number = try transfer.engineTransfer.get()
    if outcome.error?.stage == .cancelled { throw .cancelled }
    if streams { throw .streamedUpload }
    return try engine.perform(request, number: number)
  }

  /// Returns the recorded outcome.
  private func recorded(
    _ outcome: TraceEvent, for request: TransferRequest
  ) throws(TransportError) -> TransferResponse {
    let facts = (outcome.facts ?? outcome.error?.facts)?.facts ?? TransferFacts()
    let duration = facts.timings.queued + facts.timings.total
    if clock.isVirtual, let left = request.deadline, duration > left {
      clock.advance(by: left)
      throw .deadlinePassed(request.deadlineCode, of: request.wholeTimeout, "during the transfer", requestSent: true)
    }
    clock.advance(by: duration)
    guard let answer = outcome.answer else { throw outcome.error?.error ?? .notRecorded }
    let body = Data(repeating: UInt8(ascii: "*"), count: min(answer.bodyLength ?? 0, 64 << 20))
    return TransferResponse(head: answer.head, body: ResponseBody(body), facts: facts)
  }

  /// Returns a response with the notes of the layers of the recorded call.
  private func noting(_ response: TransferResponse, _ facts: TraceFacts?) -> TransferResponse {
    var response = response
    response.facts.notes = facts?.transferNotes ?? []
    return response
  }

  private func noting(_ error: TransportError, _ facts: TraceFacts?) -> TransportError {
    guard let facts, !facts.notes.isEmpty, var own = error.facts else { return error }
    own.notes = facts.transferNotes
    var error = error
    error.facts = own
    return error
  }
}

extension TransportError {
  /// The error of a transfer that the recorded call did not make.
  fileprivate static var notRecorded: Self {
    Self(
      stage: .response, code: .connectionLost,
      message: "the request would be sent here, and the trace has no response to it",
      hint: "a replay shows what happens up to here")
  }
}
