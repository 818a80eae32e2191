// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// A transport that sends through another one what its ``Resilience`` lets out.
///
/// It stands below retries, and so sees each attempt, and each redirect, by itself: three attempts count three times. A
/// request goes through pacing, then the limiter, then the breaker. What is refused fails with stage `policy`, is not
/// retried by `RetryInterceptor.standard`, and costs no retry quota. Waits count against the attempt and total
/// timeouts,
/// but not against those of connecting and idleness. An answer whose body is streamed is judged by its head.
public struct ResilientTransport: Transport {
  /// What carries requests.
  public let base: any Transport
  /// What lets them out.
  public let resilience: Resilience
  private let time: TimeSource

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
  /// deadline
  ///   passed while it waited. Nothing was sent in the latter two.
  public func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let start = time.now()
    let slot = try await pace(request)
    let room = try await room(for: request, since: start)
    let circuit = try circuit(for: request)
    var request = request
    if let deadline = request.deadline {
      let left = deadline - (time.now() - start)
      guard left > .zero else {
        throw .deadlinePassed(
          request.deadlineCode, of: request.wholeTimeout ?? deadline, "while waiting for its turn", requestSent: false)
      }
      request.deadline = left
    }
    let result: Result<TransferResponse, TransportError>
    do throws(TransportError) {
      result = .success(try await base.execute(request))
    } catch {
      result = .failure(error)
    }
    let outcome = outcome(of: result, slot)
    if let room { room.end(outcome.load) }
    if let circuit, let change = circuit.end(outcome.verdict, retryAfter: outcome.retryAfter) {
      tell(.circuit(from: change.from, to: change.to), resilience.breaker?.keyRule, request)
    }
    return try result.get()
  }

  private func pace(_ request: TransferRequest) async throws(TransportError) -> Pacer.Slot? {
    guard let pacer = resilience.pacer, let key = pacer.keyRule.key(of: request) else { return nil }
    do throws(TransportError) {
      let slot = try await pacer.slot(for: key, left: request.deadline)
      if slot.waited > .zero { resilience.onEvent?(ResilienceEvent(.paced(slot.waited), key: key)) }
      return slot
    } catch {
      throw told(error, key)
    }
  }

  private func room(
    for request: TransferRequest, since start: Duration
  ) async throws(TransportError) -> ConcurrencyPermit? {
    guard let limiter = resilience.limiter, let key = limiter.keyRule.key(of: request) else { return nil }
    do throws(TransportError) {
      let asked = time.now()
      let permit = try await limiter.permit(for: key, left: request.deadline.map { $0 - (asked - start) })
      let waited = time.now() - asked
      if permit.hasWaited { resilience.onEvent?(ResilienceEvent(.queued(waited), key: key)) }
      return permit
    } catch {
      throw told(error, key)
    }
  }

  private func circuit(for request: TransferRequest) throws(TransportError) -> CircuitPermit? {
    guard let breaker = resilience.breaker, let key = breaker.keyRule.key(of: request) else { return nil }
    do throws(TransportError) { return try breaker.permit(for: key) } catch { throw told(error, key) }
  }

  private func outcome(
    of result: Result<TransferResponse, TransportError>, _ slot: Pacer.Slot?
  ) -> AttemptOutcome {
    switch result {
    case .failure(let error): return AttemptOutcome(error)
    case .success(let answer):
      var outcome = AttemptOutcome(status: answer.head.status)
      outcome.retryAfter = answer.head.retryAfter(time.sinceEpoch())
      if let slot { resilience.pacer?.learn(slot, from: answer.head) }
      return outcome
    }
  }

  private func told(_ error: TransportError, _ key: ResilienceKey) -> TransportError {
    if error.stage == .policy { resilience.onEvent?(ResilienceEvent(.refused(error.code), key: key)) }
    return error
  }

  private func tell(_ kind: ResilienceEvent.Kind, _ rule: ResilienceKeyRule?, _ request: TransferRequest) {
    guard let onEvent = resilience.onEvent, let key = rule?.key(of: request) else { return }
    onEvent(ResilienceEvent(kind, key: key))
  }
}
