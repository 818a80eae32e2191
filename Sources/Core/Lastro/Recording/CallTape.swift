// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The events of a call that is being recorded, in memory. Nothing is masked yet.
///
/// The pipeline, the transport and the engine add events from their own threads. After the end of the call, further
/// events are dropped.
package final class CallTape: Sendable {
  /// The tape of the call that the current task runs.
  @TaskLocal static var current: CallTape?

  /// The maximum number of events. Of the transfers after it, only the outcome is recorded.
  private static let maximumEvents = 20_000

  enum Entry: Sendable {
    /// An event of the pipeline, with the times that the pipeline asked for since the previous one.
    case pipeline(FetchEvent, clock: [Int64])
    case random(UInt64)
    case link(transfer: Int, link: UInt64?, at: Int64, LinkEvent)
    /// A transfer that reached the transport.
    case transfer(Int)
    /// The number of tokens that the retry quota had for an origin.
    case quota(Int)
    /// The opinion of an interceptor on a failure.
    case opinion(String)
  }

  /// The parts of the call's plan that do not change.
  struct Plan: Sendable {
    let isStream: Bool
    let acceptance: FetchPlan.Acceptance
    let hooks: HookSet
    let waitingHooks: HookSet
    let makerWaits: Bool
    let configuration: StackConfiguration
    let options: RequestOptions

    func timeouts(for options: RequestOptions) -> Timeouts {
      options.timeouts ?? (isStream ? configuration.streamTimeouts : configuration.timeouts)
    }
  }

  private struct State {
    var entries: [Entry] = []
    var clock: [Int64] = []
    var bytes = 0
    var transfers = 0
    var isSealed = false
    /// The transfers whose bytes are left out, with the reasons.
    var omissions: [Int: ReplayOmission] = [:]
  }

  let callID: UInt64
  let plan: Plan
  let isMarked: Bool
  let keepsBodies: Bool
  /// The time since 1970 at which the time of the pipeline's clock is 0.
  let epoch: Int64
  private let maximumBytes: Int
  private let state: Lock<State>

  init(_ call: FetchCall, by recorder: CallRecorder, isMarked: Bool) {
    callID = call.callID
    let plan = call.plan
    self.plan = Plan(
      isStream: plan.isStream, acceptance: plan.acceptance, hooks: plan.hooks, waitingHooks: plan.waitingHooks,
      makerWaits: plan.baseRequestMaking.makeAtOnce == nil, configuration: plan.configuration, options: plan.options)
    self.isMarked = isMarked
    keepsBodies = recorder.keepsBodies
    maximumBytes = recorder.maximumBytes
    epoch = (plan.configuration.timeSource.sinceEpoch() - call.start).wholeNanoseconds
    state = Lock(State(clock: [call.start.wholeNanoseconds]))
  }

  /// All events, and the transfers whose bytes are left out, with the reasons.
  var contents: (entries: [Entry], omissions: [Int: ReplayOmission]) {
    state.withLock { ($0.entries, $0.omissions) }
  }

  // MARK: The pipeline

  func note(time: Duration) {
    state.withLock { if !$0.isSealed { $0.clock.append(time.wholeNanoseconds) } }
  }

  /// Removes a time that belongs to another call.
  func drop(time: Duration) {
    state.withLock { if $0.clock.last == time.wholeNanoseconds { $0.clock.removeLast() } }
  }

  func note(random: UInt64) {
    state.withLock { if !$0.isSealed { $0.entries.append(.random(random)) } }
  }

  func note(_ event: FetchEvent) {
    var tokens: Int?
    if case .transferStarted(let request) = event.kind, let quota = plan.configuration.retryQuota,
      let origin = Origin(request.head)
    {
      tokens = quota.tokens(of: origin)
    }
    state.withLock { state in
      guard !state.isSealed else { return }
      state.entries.append(.pipeline(event, clock: state.clock))
      if let tokens { state.entries.append(.quota(tokens)) }
      state.clock = []
    }
  }

  /// Records the opinion of an interceptor on a failure.
  func note(_ action: Retry.Action, of interceptor: any HTTPResourceInterceptor) {
    let words =
      switch action {
      case .none: "has no opinion"
      case .noRetry(let reason): "refuses a retry: \(reason)"
      case .retry: "wants a retry"
      case .retryAfter(let delay): "wants a retry after \(delay.brief)"
      }
    let name = "\(type(of: interceptor))"
    state.withLock { if !$0.isSealed { $0.entries.append(.opinion("\(name) \(words)")) } }
  }

  func seal() { state.withLock { $0.isSealed = true } }

  fileprivate var isSealed: Bool { state.withLock { $0.isSealed } }

  // MARK: Transfers

  /// Returns the tape of a transfer that reaches the transport.
  func beginTransfer() -> TransferTape {
    let number = state.withLock { state in
      state.transfers += 1
      if !state.isSealed { state.entries.append(.transfer(state.transfers)) }
      return state.transfers
    }
    return TransferTape(self, number)
  }

  fileprivate func leaveOut(_ transfer: Int, _ reason: ReplayOmission) {
    state.withLock { state in
      if !state.isSealed { state.omissions[transfer] = reason }
    }
  }

  fileprivate func note(_ event: LinkEvent, transfer: Int, link: UInt64?, at time: Int64) {
    state.withLock { state in
      guard !state.isSealed else { return }
      guard state.entries.count < Self.maximumEvents, state.bytes + event.byteCount <= maximumBytes else {
        state.omissions[transfer] = .tooLarge
        return
      }
      guard state.omissions[transfer] == nil else { return }
      state.bytes += event.byteCount
      state.entries.append(.link(transfer: transfer, link: link, at: time, event))
    }
  }
}

/// The part of a ``CallTape`` for one transfer. Its request carries it to the engine.
package final class TransferTape: Sendable {
  /// The tape of a call that is not recorded, although its stack has a recorder: other calls may need its connections.
  static let blank = TransferTape(nil, 0)

  private let call: CallTape?
  private let number: Int

  fileprivate init(_ call: CallTape?, _ number: Int) {
    self.call = call
    self.number = number
  }

  /// Whether bodies are kept.
  package var keepsBodies: Bool { call?.keepsBodies ?? false }
  /// Whether events are dropped: the call has ended, or is not recorded.
  package var isOver: Bool { call?.isSealed ?? true }

  /// Leaves out the bytes of the transfer, which cannot be performed again.
  package func leaveOut(_ reason: ReplayOmission) { call?.leaveOut(number, reason) }

  /// Returns whether another transfer belongs to the same call.
  package func isOfSameCall(as other: TransferTape) -> Bool { call === other.call }

  /// Records an event.
  ///
  /// - Parameters:
  ///   - link: the number of the connection; `nil` if there is none.
  ///   - time: the time on the engine's clock, in nanoseconds.
  package func note(_ event: LinkEvent, link: UInt64? = nil, at time: Int64) {
    call?.note(event, transfer: number, link: link, at: time)
  }
}

extension LinkEvent {
  fileprivate var byteCount: Int {
    switch self {
    case .sent(let bytes), .read(let bytes): bytes.count
    case .frames(_, let pieces): pieces.reduce(0) { $0 + $1.byteCount }
    default: 0
    }
  }
}

extension Duration {
  /// The number of whole nanoseconds, clamped to the range of `Int64`.
  var wholeNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }
}

extension TimeSource {
  /// Returns a source that also records each time on the tape of the current call.
  var recording: TimeSource {
    let base = self
    return TimeSource(
      now: {
        let time = base.now()
        CallTape.current?.note(time: time)
        return time
      }, sleep: base.sleep, limit: base.limit, sinceEpoch: base.sinceEpoch)
  }
}

extension RandomSource {
  /// Returns a source that also records each number on the tape of the current call.
  var recording: RandomSource {
    let base = self
    return RandomSource {
      let bits = base.next()
      CallTape.current?.note(random: bits)
      return bits
    }
  }
}

/// A transport that gives each request the tape of its transfer, for the engine.
struct TapedTransport: Transport {
  let base: any Transport

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    guard request.tape == nil else { return try await base.execute(request) }
    var request = request
    request.tape = CallTape.current?.beginTransfer() ?? .blank
    return try await base.execute(request)
  }

  func explain(_ request: TransferRequest) -> [(name: String, value: String)] { base.explain(request) }
}
