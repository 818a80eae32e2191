// SPDX-License-Identifier: Apache-2.0

import Lastro

extension ResilientTransport {
  /// Sends a request, and sends it again if the response is slow.
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

  /// Sends a request without a race, because no delay is known yet. It creates no task.
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
  /// Returns the reason for not sending a hedge now; `nil` if it was paid for.
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

/// The first try of an attempt, from which a hedger learns.
struct FirstTry: Sendable {
  let hedger: Hedger
  let place: Hedger.Place
  let start: Duration
  let delay: Duration?

  /// Records the end of the first try, or its cancellation in favor of another response. An early failure is no latency
  /// sample. A failure after the delay is one: without slow failures, the delay would shrink.
  func ended(_ verdict: HedgeVerdict, now: Duration) {
    let latency = now - start
    guard verdict == .acceptable || delay.map({ latency >= $0 }) ?? false else { return }
    hedger.learn(place, latency)
  }
}
