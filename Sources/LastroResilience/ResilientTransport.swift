// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A transport that sends through another one what its ``Resilience`` lets out.
///
/// It stands below retries, and so sees each attempt, and each redirect, by itself: three attempts count three times. A
/// request goes through pacing, then the limiter, then the breaker. What is refused fails with stage `policy`, is not
/// retried by `RetryInterceptor.standard`, and costs no retry quota. Waits count against the attempt and total
/// timeouts, but not against those of connecting and idleness. An answer whose body is streamed is judged by its head.
/// With a ``Hedger`` an attempt may be several tries, each of which goes through all of it by itself.
///
/// A stack puts it around its transport by `StackConfiguration.resilience`.
public struct ResilientTransport: Transport {
  /// What carries requests.
  public let base: any Transport
  /// What lets them out.
  public let resilience: Resilience
  let time: TimeSource

  /// Wraps a transport.
  ///
  /// - Parameters:
  ///   - base: what carries requests.
  ///   - resilience: what lets them out.
  ///   - time: measures waits. Default: the system's; the parts have clocks of their own.
  public init(over base: any Transport, _ resilience: Resilience, time: TimeSource = .continuous) {
    self.base = base
    self.resilience = resilience
    self.time = time
  }

  /// Waits until the request may go out, sends it, and tells the parts how it ended.
  ///
  /// - Throws: `TransportError`: that of the base; stage `policy` where it was refused; stage `timeout` where its
  ///   deadline passed while it waited. Nothing was sent in the latter two.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let resilience = resilience.used(by: request)
    if let hedger = resilience.hedger, let key = hedger.key(of: request) {
      return try await hedged(request, by: resilience, hedger, key)
    }
    if resilience.isEmpty { return try await base.execute(request) }
    var telling = ResilienceTelling(resilience.onEvent)
    do throws(TransportError) {
      let response = try await execute(request, by: resilience, &telling)
      return telling.noted(response)
    } catch {
      throw telling.noted(error)
    }
  }

  /// Sends one try.
  func execute(
    _ request: TransferRequest, by resilience: Resilience, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> TransferResponse {
    let start = time.now()
    let slot = try await pace(request, by: resilience.pacer, &telling)
    let room = try await room(for: request, since: start, by: resilience.limiter, &telling)
    let circuit = try circuit(for: request, by: resilience.breaker, &telling)
    // Where nothing waited, the deadline stays as it is: to change it copies the request.
    let request = telling.hasWaited ? try remaining(of: request, since: start) : request
    let result: Result<TransferResponse, TransportError>
    do throws(TransportError) {
      result = .success(try await base.execute(request))
    } catch {
      result = .failure(error)
    }
    let outcome = AttemptOutcome(result, sinceEpoch: time.sinceEpoch())
    if let slot, case .success(let answer) = result { resilience.pacer?.learn(slot, from: answer.head) }
    if let room {
      let key = room.key
      if let snapshot = room.ended(outcome.load) { telling.note(snapshot, key) }
    }
    if let circuit, let change = circuit.end(outcome.verdict, retryAfter: outcome.retryAfter),
      let key = resilience.breaker?.keyRule.key(of: request)
    {
      telling.tell(.circuit(from: change.from, to: change.to), key)
    }
    return try result.get()
  }

  /// The request with what its waits left of its deadline.
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

  private func pace(
    _ request: TransferRequest, by pacer: Pacer?, _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> Pacer.Slot? {
    guard let pacer, let key = pacer.keyRule.key(of: request) else { return nil }
    do throws(TransportError) {
      let slot = try await pacer.slot(for: key, left: request.deadline)
      if slot.waited > .zero { telling.tell(.paced(slot.waited), key) }
      return slot
    } catch {
      throw telling.told(error, key)
    }
  }

  private func room(
    for request: TransferRequest, since start: Duration, by limiter: ConcurrencyLimiter?,
    _ telling: inout ResilienceTelling
  ) async throws(TransportError) -> ConcurrencyPermit? {
    guard let limiter, let key = limiter.keyRule.key(of: request) else { return nil }
    do throws(TransportError) {
      let asked = time.now()
      let permit = try await limiter.permit(for: key, left: request.deadline.map { $0 - (asked - start) })
      if permit.hasWaited { telling.tell(.queued(time.now() - asked), key) }
      return permit
    } catch {
      throw telling.told(error, key)
    }
  }

  private func circuit(
    for request: TransferRequest, by breaker: CircuitBreaker?, _ telling: inout ResilienceTelling
  ) throws(TransportError) -> CircuitPermit? {
    guard let breaker, let key = breaker.keyRule.key(of: request) else { return nil }
    do throws(TransportError) {
      let permit = try breaker.permit(for: key)
      if permit.isFirstProbe { telling.tell(.circuit(from: .open(left: .zero), to: .halfOpen), key) }
      return permit
    } catch {
      throw telling.told(error, key)
    }
  }
}
