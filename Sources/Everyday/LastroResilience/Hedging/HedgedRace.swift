// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport

/// The concurrent tries of one attempt; it carries out the decisions of a ``HedgePlan``.
///
/// All tries are child tasks of the task that awaits the response: cancelling that task cancels them, and all of them
/// have ended when it resumes.
struct HedgedRace {
  typealias Ended = Result<TransferResponse, TransportError>

  enum Event: Sendable {
    /// The delay after the given try has passed.
    case delayPassed(Int)
    case ended(Int, Ended, ResilienceTelling)
  }

  private let request: TransferRequest
  private let transport: ResilientTransport
  /// The resilience parts that each try passes through.
  private let resilience: Resilience
  private let delay: Duration
  private let first: FirstTry
  private let key: ResilienceKey
  private var plan: HedgePlan
  private var results: [Int: Ended] = [:]
  /// The time between the first try and each hedge.
  private var sentAfter: [Int: Duration] = [:]
  private var telling = ResilienceTelling()

  init(
    request: TransferRequest, transport: ResilientTransport, resilience: Resilience, delay: Duration, first: FirstTry,
    key: ResilienceKey
  ) {
    (self.request, self.transport, self.resilience) = (request, transport, resilience)
    (self.delay, self.first, self.key) = (delay, first, key)
    plan = HedgePlan(additional: first.hedger.policy.additional)
  }

  mutating func run(in group: inout TaskGroup<Event>) async -> Ended {
    send(0, request, in: &group)
    while let event = await group.next() {
      switch step(after: event) {
      case .wait: break
      case .send(let number): sendHedge(number, in: &group)
      case .answer(let number, let cancelled):
        group.cancelAll()
        // In two steps: the notes of `self` are read after `answer` has added those of the losers.
        let result = answer(number, cancelled)
        return noted(result)
      }
    }
    // Unreachable: a plan has an answer before its last try has ended.
    return .failure(.cancelled(requestSent: true))
  }

  private func send(_ number: Int, _ request: TransferRequest, in group: inout TaskGroup<Event>) {
    let (transport, resilience, delay) = (transport, resilience, delay)
    group.addTask {
      var telling = ResilienceTelling()
      let result: Ended = await Result { () async throws(TransportError) in
        try await transport.execute(request, by: resilience, &telling)
      }
      return .ended(number, result, telling)
    }
    guard plan.awaitsDelay else { return }
    group.addTask {
      // If the wait is interrupted, the attempt is over anyway.
      try? await transport.time.limit(delay)
      return .delayPassed(number)
    }
  }

  private mutating func sendHedge(_ number: Int, in group: inout TaskGroup<Event>) {
    let elapsed = transport.time.now() - first.start
    var request = request
    if let deadline = request.deadline { request.deadline = deadline - elapsed }
    sentAfter[number] = elapsed
    send(number, request, in: &group)
  }

  private mutating func step(after event: Event) -> HedgePlan.Step {
    switch event {
    case .delayPassed(let number):
      // Ignore the delay of a try that was already followed by another.
      guard number == plan.sent - 1 else { return .wait }
      return stepped { plan, pay in plan.delayPassed(pay: pay) }
    case .ended(let number, let result, let told):
      results[number] = result
      telling.notes += told.notes
      let outcome = AttemptOutcome(result, sinceEpoch: transport.time.sinceEpoch())
      if number == 0 {
        first.ended(outcome.hedge, now: transport.time.now())
        return step(after: 0, outcome)
      }
      tell(number, outcome.hedge == .acceptable ? .won : .useless)
      return Self.isHedgesOwn(result, outcome) ? plan.refused(number) : step(after: number, outcome)
    }
  }

  /// Whether a failure that no other try could improve on affects only the hedge. Such a failure does not end the
  /// attempt: without the hedge, the first try would have continued.
  private static func isHedgesOwn(
    _ result: Ended, _ outcome: AttemptOutcome
  ) -> Bool {
    guard case .failure = result else { return false }
    return outcome.hedge == .ends && !Task.isCancelled
  }

  private mutating func step(after number: Int, _ outcome: AttemptOutcome) -> HedgePlan.Step {
    stepped { plan, pay in
      plan.ended(number, outcome.hedge, asksForPatience: outcome.retryAfter != nil, pay: pay)
    }
  }

  /// Performs a step that may require a hedge, and reports why none is sent.
  private mutating func stepped(_ step: (inout HedgePlan, () -> Bool) -> HedgePlan.Step) -> HedgePlan.Step {
    var veto: HedgeVeto?
    let (request, resilience, first, key, time) = (request, resilience, first, key, transport.time)
    let next = step(&plan) {
      if Task.isCancelled { return false }
      if let deadline = request.deadline, time.now() - first.start >= deadline { return false }
      veto = resilience.hedgeVeto(request, first, key)
      return veto == nil
    }
    if let veto {
      telling.notes.append(.init("unhedged", detail: veto.rawValue, text: "no hedge: \(veto.rawValue)"))
    }
    return next
  }

  private mutating func answer(_ number: Int, _ cancelled: [Int]) -> Ended {
    if cancelled.contains(0) { first.ended(.ends, now: transport.time.now()) }
    for loser in cancelled where loser > 0 { tell(loser, .lost) }
    guard case .failure(var error)? = results[number] else {
      return results[number] ?? .failure(.cancelled(requestSent: true))
    }
    // Another try may have been sent, even if this one was not.
    error.requestSent = !cancelled.isEmpty || results.values.contains(where: \.wasSent)
    return .failure(error)
  }

  private mutating func tell(_ number: Int, _ end: HedgeEnd) {
    let delay = sentAfter[number] ?? .zero
    telling.notes.append(.init("hedged", detail: end.rawValue, text: "hedge \(number) at \(delay.brief), \(end)"))
  }

  private func noted(_ result: Ended) -> Ended {
    switch result {
    case .success(let answer): .success(telling.noted(answer))
    case .failure(let error): .failure(telling.noted(error))
    }
  }
}

extension Result where Success == TransferResponse, Failure == TransportError {
  fileprivate var wasSent: Bool {
    switch self {
    case .success: true
    case .failure(let error): error.requestSent
    }
  }
}
