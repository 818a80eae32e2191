// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// A transport that sends requests through another one, subject to its ``Resilience``.
///
/// It is below retries, so it sees each attempt and each redirect separately: three attempts count three times. A
/// request passes the pacer, then the limiter, then the breaker. A refused request fails with stage `policy`, is not
/// retried by `.retry`, and costs no retry quota. Waits count against the attempt and total
/// timeouts, but not against the connect and idle timeouts. A response whose body is streamed is judged by its head.
/// With a ``Hedger``, an attempt may consist of several tries, each of which passes all parts on its own.
///
/// A stack wraps its transport in one if `StackConfiguration.resilience` is set.
package struct ResilientTransport: Transport {
  /// The transport that sends the requests.
  package let base: any Transport
  /// The parts that admit requests.
  package let resilience: Resilience
  let time: TimeSource

  /// Wraps a transport.
  ///
  /// - Parameters:
  ///   - base: the transport that sends the requests.
  ///   - resilience: the parts that admit requests.
  ///   - time: the time source for waits. Default: the system's; the parts have time sources of their own.
  package init(over base: any Transport, _ resilience: Resilience, time: TimeSource = .continuous) {
    self.base = base
    self.resilience = resilience
    self.time = time
  }

  /// Waits until the request may be sent, sends it, and reports its outcome to the parts of ``Resilience``.
  ///
  /// - Throws: `TransportError`: the error of the base transport; stage `policy` if the request was refused; stage
  ///   `timeout` if its deadline passed while it waited. Nothing was sent in the latter two cases.
  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let resilience = resilience.used(by: request)
    if let hedger = resilience.hedger, let key = hedger.key(of: request) {
      return try await hedged(request, by: resilience, hedger, key)
    }
    if resilience.isEmpty, resilience.endpoints == nil { return try await base.execute(request) }
    return try await alone(request, by: resilience)
  }

  /// Sends one try.
  func execute(
    _ request: TransferRequest, by resilience: Resilience, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> TransferResponse {
    let start = time.now()
    let origin = Origin(request.head)
    var slot: Pacer.Slot?
    if let pacer = resilience.pacer, let key = pacer.keyRule.key(of: request, to: origin) {
      switch try pacer.turn(for: key, left: request.deadline) {
      case .slot(let free): slot = free
      case .wait(let wait): slot = try await self.slot(after: wait, for: key, by: pacer, &telling)
      }
      if pacer.shared != nil, let slot {
        let left = request.deadline.map { $0 - (time.now() - start) }
        let notes = try await pacer.takeShared(slot, for: key, left: left)
        telling.notes += notes
      }
    }
    var room: ConcurrencyPermit?
    var circuit: CircuitPermit?
    let sent: TransferRequest
    do throws(TransportError) {
      if let limiter = resilience.limiter, let key = limiter.keyRule.key(of: request, to: origin) {
        let asked = time.now()
        let left = request.deadline.map { $0 - (asked - start) }
        switch try limiter.ask(key, left) {
        case .admitted(let place, let grant): room = limiter.permit(for: key, at: place, grant)
        case .waits(let wait): room = try await self.room(after: wait, for: key, since: asked, by: limiter, &telling)
        }
      }
      if let breaker = resilience.breaker, let shared = breaker.shared {
        if let key = breaker.keyRule.key(of: request, to: origin) {
          let left = request.deadline.map { $0 - (time.now() - start) }
          circuit = try await breaker.permit(for: key, heeding: shared, left: left, &telling)
        }
      } else {
        circuit = try self.circuit(for: request, to: origin, by: resilience.breaker, &telling)
      }
      // If nothing waited, keep the deadline: changing it would copy the request.
      sent = telling.hasWaited ? try remaining(of: request, since: start) : request
    } catch {
      // A refused request costs none of the server's quota.
      if let slot { resilience.pacer?.giveBack(slot) }
      throw error
    }
    if let free = slot { slot = resilience.pacer?.sent(free) }
    let result = await send(sent, to: origin, of: resilience.endpoints, &telling)
    let outcome = AttemptOutcome(result, sinceEpoch: time.sinceEpoch())
    if let slot, case .success(let answer) = result { resilience.pacer?.learn(slot, from: answer.head) }
    tell(outcome, room, circuit, &telling)
    return try result.get()
  }

  /// Sends a request: to a member of the set if its members share the request's origin.
  private func send(
    _ request: TransferRequest, to origin: Origin?, of endpoints: EndpointSet?, _ telling: inout ResilienceTelling
  ) async -> Result<TransferResponse, TransportError> {
    var sent = request
    var lease = lease(for: &sent, to: origin, of: endpoints, &telling)
    let start = time.now()
    let result: Result<TransferResponse, TransportError> = await Result { () async throws(TransportError) in
      try await base.execute(sent)
    }
    if let lease = lease.take() {
      let latency = result.serverLatency ?? (time.now() - start)
      lease.end(AttemptOutcome(result, sinceEpoch: time.sinceEpoch()).verdict, latency: latency)
    }
    return result
  }

  private func lease(
    for request: inout TransferRequest, to origin: Origin?, of endpoints: EndpointSet?,
    _ telling: inout ResilienceTelling
  ) -> EndpointLease? {
    guard let endpoints, let origin else { return nil }
    guard endpoints.sharedOrigin == origin else {
      if let choice = EndpointSet.chosen, choice.endpoint.origin == origin { telling.notes.append(choice.note) }
      return nil
    }
    let lease = endpoints.lease(forCall: request.callID)
    telling.notes.append(lease.choice.note)
    request.member = lease.endpoint.address
    return lease
  }

  private func tell(
    _ outcome: AttemptOutcome, _ room: consuming ConcurrencyPermit?, _ circuit: consuming CircuitPermit?,
    _ telling: inout ResilienceTelling
  ) {
    if let room = room.take() {
      let key = room.key
      if let snapshot = room.ended(outcome.load) { telling.note(snapshot, key) }
    }
    guard let circuit = circuit.take() else { return }
    guard let change = circuit.end(outcome.verdict, retryAfter: outcome.retryAfter) else { return }
    telling.addCircuitNote(from: change.from, to: change.to)
  }

  /// Returns the request with its deadline shortened by its waits.
  private func remaining(
    of request: TransferRequest, since start: Duration
  ) throws(TransportError) -> TransferRequest {
    guard let deadline = request.deadline else { return request }
    let left = deadline - (time.now() - start)
    guard left > .zero else {
      throw .deadlinePassed(
        request.deadlineCode, of: request.wholeTimeout ?? deadline, "while waiting for its turn", requestSent: false)
    }
    var request = request
    request.deadline = left
    return request
  }

  private func slot(
    after wait: Pacer.Wait, for key: ResilienceKey, by pacer: Pacer, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> Pacer.Slot {
    let slot = try await pacer.slot(after: wait, for: key)
    if slot.waited > .zero {
      telling.notes.append(.init("paced", text: "waited \(slot.waited.brief) for its pace", wait: slot.waited))
    }
    return slot
  }

  private func room(
    after wait: ConcurrencyLimiter.Wait, for key: ResilienceKey, since asked: Duration,
    by limiter: ConcurrencyLimiter, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> ConcurrencyPermit {
    let permit = try await limiter.permit(after: wait, for: key)
    let waited = time.now() - asked
    telling.notes.append(.init("queued", text: "waited \(waited.brief) for room", wait: waited))
    return permit
  }

  private func circuit(
    for request: TransferRequest, to origin: Origin?, by breaker: CircuitBreaker?, _ telling: inout ResilienceTelling
  ) throws(TransportError) -> CircuitPermit? {
    guard let breaker, let key = breaker.keyRule.key(of: request, to: origin) else { return nil }
    let permit = try breaker.permit(for: key)
    if permit.isFirstProbe { telling.addCircuitNote(from: .open(left: .zero), to: .halfOpen) }
    return permit
  }
}

extension ResilientTransport {
  /// Returns the facts of the base transport, and the state of each part for the request's server.
  package func explain(_ request: TransferRequest) -> [(name: String, value: String)] {
    var facts = base.explain(request)
    let resilience = resilience.used(by: request)
    if resilience.isEmpty, resilience.endpoints?.sharedOrigin == nil {
      facts.append((name: "resilience", value: "none for this request"))
    }
    if let words = resilience.endpoints?.words(for: request) { facts.append((name: "endpoint", value: words)) }
    if let pacer = resilience.pacer, let key = pacer.keyRule.key(of: request) {
      let status = pacer.status(of: key)
      var words = pacer.policy.pace.map { "\($0.perSecond) requests a second" } ?? "as the server asks"
      if let shared = pacer.shared { words = shared.words() }
      if let left = status.left, let reset = status.reset { words += "; \(left) left for \(reset.brief)" }
      if let blocked = status.blocked { words += "; closed for \(blocked.brief) by Retry-After" }
      facts.append((name: "pace", value: words))
    }
    if let limiter = resilience.limiter, let key = limiter.keyRule.key(of: request) {
      let snapshot = limiter.snapshot(of: key)
      let words = "\(snapshot.inUse) of \(snapshot.limit) under way, \(snapshot.waiting) wait"
      facts.append((name: "concurrency", value: words))
    }
    if let breaker = resilience.breaker, let key = breaker.keyRule.key(of: request) {
      facts.append((name: "circuit", value: breaker.words(of: key)))
    }
    if let hedger = resilience.hedger { facts.append((name: "hedging", value: hedger.words(for: request))) }
    return facts
  }
}

extension Result where Success == TransferResponse {
  /// The time from the request to the response, without that for a connection; `nil` if it is not known. The first request
  /// to a member would otherwise make the member seem slow.
  fileprivate var serverLatency: Duration? {
    guard case .success(let answer) = self, let start = answer.facts.timings.requestStart,
      let firstByte = answer.facts.timings.firstByte
    else { return nil }
    return max(.zero, firstByte - start)
  }
}

extension EndpointSet {
  /// Returns how the endpoint of a request compares with the others; `nil` if it is not in the set.
  fileprivate func words(for request: TransferRequest) -> String? {
    guard let origin = Origin(request.head) else { return nil }
    let health = health()
    if sharedOrigin == origin { return words(for: health) }
    guard let chosen = health.first(where: { $0.endpoint.origin == origin }) else { return nil }
    let ejected = health.filter { $0.isEjected && $0.endpoint.origin != origin }.map { "\($0.endpoint.origin)" }
    var words = "\(origin), one of \(health.count), in tier \(chosen.endpoint.tier); \(chosen.inUse) under way"
    if chosen.isEjected { words += "; ejected" }
    return words + (ejected.isEmpty ? "" : "; ejected of the others: \(ejected.joined(separator: ", "))")
  }

  /// Returns the members among which each attempt chooses, and their source.
  private func words(for health: [Health]) -> String {
    let most = 10
    let members = health.filter { !$0.isDraining }, draining = health.filter(\.isDraining)
    var parts = ["the less loaded of two, for each attempt, of \(members.count)"]
    parts += members.prefix(most).map { "\($0.endpoint): \($0.inUse) under way" + ($0.isEjected ? ", ejected" : "") }
    if members.count > most { parts.append("…") }
    if !draining.isEmpty {
      parts.append("\(draining.count) removed, with \(draining.reduce(0) { $0 + $1.inUse }) under way")
    }
    if let sourceName { parts.append("from \(sourceName)" + (age.map { ", \($0.brief) ago" } ?? "")) }
    if let failure = discovery.failure { parts.append("kept, because \(failure)") }
    return parts.joined(separator: "; ")
  }
}

extension Hedger {
  fileprivate func words(for request: TransferRequest) -> String {
    guard let key = key(of: request) else { return "no: it must not be under way twice" }
    let status = status(of: key)
    guard let delay = status.delay else { return "not yet: too few answers are known" }
    return "after \(delay.brief), of \(policy.additional) at most; \(status.budget) can be paid for"
  }
}

extension ResilientTransport {
  /// Sends a request, and sends it again if the response is slow.
  func hedged(
    _ request: TransferRequest, by resilience: Resilience, _ hedger: Hedger, _ key: ResilienceKey
  ) async throws(TransportError) -> TransferResponse {
    let (place, delay) = hedger.recordFirstTry(key, left: request.deadline)
    let first = FirstTry(hedger: hedger, place: place, start: time.now(), delay: delay)
    guard let delay else { return try await alone(request, by: resilience, first) }
    let result = await withTaskGroup(of: HedgedRace.Event.self) { group in
      var race = HedgedRace(
        request: request, transport: self, resilience: resilience, delay: delay, first: first, key: key)
      return await race.run(in: &group)
    }
    return try result.get()
  }

  /// Sends a request without a race, from which a hedger may learn. It creates no task.
  private func alone(
    _ request: TransferRequest, by resilience: Resilience, _ first: FirstTry? = nil
  ) async throws(TransportError) -> TransferResponse {
    var telling = ResilienceTelling()
    do throws(TransportError) {
      let answer = try await execute(request, by: resilience, &telling)
      if let first { first.ended(AttemptOutcome(status: answer.head.status).hedge, now: time.now()) }
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
