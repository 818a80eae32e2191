// SPDX-License-Identifier: Apache-2.0

import Lastro

extension ResilientTransport {
  /// Sends a request, and once more where its answer takes long.
  func hedged(
    _ request: TransferRequest, by resilience: Resilience, _ hedger: Hedger, _ key: ResilienceKey
  ) async throws(TransportError) -> TransferResponse {
    let (place, delay) = hedger.begin(key, left: request.deadline)
    let first = FirstTry(hedger: hedger, place: place, start: time.now(), delay: delay)
    guard let delay else { return try await alone(request, by: resilience, first) }
    let result = await withTaskGroup(of: HedgedRace.Event.self) { group in
      var race = HedgedRace(
        request: request, transport: self, resilience: resilience, delay: delay, first: first, key: key)
      return await race.run(in: &group)
    }
    return try result.get()
  }

  /// While no delay is known, there is nothing to race: that takes no task of its own.
  private func alone(
    _ request: TransferRequest, by resilience: Resilience, _ first: FirstTry
  ) async throws(TransportError) -> TransferResponse {
    var telling = ResilienceTelling(resilience.onEvent)
    do throws(TransportError) {
      let answer = try await execute(request, by: resilience, &telling)
      first.ended(AttemptOutcome(status: answer.head.status).hedge, now: time.now())
      return telling.noted(answer)
    } catch {
      throw telling.noted(error)
    }
  }
}

extension Resilience {
  /// Why no hedge is sent now; `nil` where one is paid for.
  func hedgeVeto(_ request: TransferRequest, _ first: FirstTry, _ key: ResilienceKey) -> HedgeVeto? {
    if let breaker, let key = breaker.keyRule.key(of: request), breaker.state(of: key) != .closed { return .circuit }
    if let pacer, let key = pacer.keyRule.key(of: request), pacer.status(of: key).blocked != nil { return .pace }
    if let limiter, let key = limiter.keyRule.key(of: request) {
      let snapshot = limiter.snapshot(of: key)
      if snapshot.inUse >= snapshot.limit { return .room }
    }
    return first.hedger.pay(first.place, key.origin)
  }
}

/// The first try of an attempt, as a hedger learns from it.
struct FirstTry: Sendable {
  let hedger: Hedger
  let place: Hedger.Place
  let start: Duration
  let delay: Duration?

  /// It ended, or was given up for another one's answer. A failure that comes soon says nothing of how long answers
  /// take; one that lasted longer than the delay does, or the slow ones would be missing and the delay shrink.
  func ended(_ verdict: HedgeVerdict, now: Duration) {
    let latency = now - start
    guard verdict == .acceptable || delay.map({ latency >= $0 }) ?? false else { return }
    hedger.learn(place, latency)
  }
}
