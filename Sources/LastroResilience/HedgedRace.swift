// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The tries of one attempt under way: what its ``HedgePlan`` decides is done here.
///
/// All are children of the task that wants the answer: its cancellation ends them, and none is left when it goes on.
struct HedgedRace {
  typealias Ended = Result<TransferResponse, TransportError>

  enum Event: Sendable {
    /// The last try that was sent when the delay began has had it to itself.
    case delayPassed(Int)
    case ended(Int, Ended, ResilienceTelling)
  }

  private let request: TransferRequest
  private let transport: ResilientTransport
  /// What each try goes through.
  private let resilience: Resilience
  private let delay: Duration
  private let first: FirstTry
  private let key: ResilienceKey
  private var plan: HedgePlan
  private var results: [Int: Ended] = [:]
  /// How long after the first each hedge was sent.
  private var sentAfter: [Int: Duration] = [:]
  private var telling: ResilienceTelling

  init(
    request: TransferRequest, transport: ResilientTransport, resilience: Resilience, delay: Duration, first: FirstTry,
    key: ResilienceKey
  ) {
    (self.request, self.transport, self.resilience) = (request, transport, resilience)
    (self.delay, self.first, self.key) = (delay, first, key)
    plan = HedgePlan(additional: first.hedger.policy.additional)
    telling = ResilienceTelling(resilience.onEvent)
  }

  mutating func run(in group: inout TaskGroup<Event>) async -> Ended {
    send(0, request, in: &group)
    while let event = await group.next() {
      switch step(after: event) {
      case .wait: break
      case .send(let number): sendHedge(number, in: &group)
      case .answer(let number, let cancelled):
        group.cancelAll()
        return noted(answer(number, cancelled))
      }
    }
    // A plan has its answer before its last try has ended.
    return .failure(.cancelled(requestSent: true))
  }

  private func send(_ number: Int, _ request: TransferRequest, in group: inout TaskGroup<Event>) {
    let (transport, resilience, delay) = (transport, resilience, delay)
    group.addTask {
      var telling = ResilienceTelling(resilience.onEvent)
      do throws(TransportError) {
        let answer = try await transport.execute(request, by: resilience, &telling)
        return .ended(number, .success(answer), telling)
      } catch {
        return .ended(number, .failure(error), telling)
      }
    }
    guard plan.awaitsDelay else { return }
    group.addTask {
      // Where it is interrupted, the attempt is over.
      try? await transport.time.limit(delay)
      return .delayPassed(number)
    }
  }

  private mutating func sendHedge(_ number: Int, in group: inout TaskGroup<Event>) {
    let elapsed = transport.time.now() - first.start
    var request = request
    if let deadline = request.deadline { request.deadline = deadline - elapsed }
    sentAfter[number] = elapsed
    telling.tell(.hedgeSent(number, after: elapsed), key)
    send(number, request, in: &group)
  }

  private mutating func step(after event: Event) -> HedgePlan.Step {
    switch event {
    case .delayPassed(let number):
      // Of a try that was followed by another at once.
      guard number == plan.sent - 1 else { return .wait }
      return stepped { plan, pay in plan.delayPassed(pay: pay) }
    case .ended(let number, let result, let told):
      results[number] = result
      telling.take(told)
      let outcome = AttemptOutcome(result, sinceEpoch: transport.time.sinceEpoch())
      if number == 0 {
        first.ended(outcome.hedge, now: transport.time.now())
        return step(after: 0, outcome)
      }
      tell(number, outcome.hedge == .acceptable ? .won : .useless)
      return Self.isHedgesOwn(result, outcome) ? plan.refused(number) : step(after: number, outcome)
    }
  }

  /// What no other try would do better ends an attempt, but not where it happened to the hedge: without it the first
  /// try would have gone on.
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

  /// Takes a step that may want a hedge, and tells why there is none.
  private mutating func stepped(_ step: (inout HedgePlan, () -> Bool) -> HedgePlan.Step) -> HedgePlan.Step {
    var veto: HedgeVeto?
    let (request, resilience, first, key, time) = (request, resilience, first, key, transport.time)
    let next = step(&plan) {
      if Task.isCancelled { return false }
      if let deadline = request.deadline, time.now() - first.start >= deadline { return false }
      veto = resilience.hedgeVeto(request, first, key)
      return veto == nil
    }
    if let veto { telling.tell(.hedgeWithheld(veto), key) }
    return next
  }

  private mutating func answer(_ number: Int, _ cancelled: [Int]) -> Ended {
    if cancelled.contains(0) { first.ended(.ends, now: transport.time.now()) }
    for loser in cancelled where loser > 0 { tell(loser, .lost) }
    guard case .failure(var error)? = results[number] else {
      return results[number] ?? .failure(.cancelled(requestSent: true))
    }
    // Another try may have left, whatever this one says of itself.
    error.requestSent = !cancelled.isEmpty || results.values.contains(where: \.wasSent)
    return .failure(error)
  }

  private mutating func tell(_ number: Int, _ end: HedgeEnd) {
    telling.tell(.hedgeEnded(number, end, sentAfter: sentAfter[number] ?? .zero), key)
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
