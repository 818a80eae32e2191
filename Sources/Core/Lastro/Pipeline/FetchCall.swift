// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// The state of one call that outlives its attempts. `Stages.swift` shows the sequence of its stages. It is used by one
/// task only, and no access to a variable extends over a function call. Therefore, exclusivity is unchecked for some
/// variables.
final class FetchCall {
  let plan: FetchPlan
  let callID = CallCounter.next()
  /// The start time of the call on the plan's clock.
  let start: Duration
  @exclusivity(unchecked) var retryState = Retry.State.empty
  /// The attempts that have ended.
  @exclusivity(unchecked) var attempts: [Attempt] = []

  init(_ plan: consuming FetchPlan) {
    start = plan.configuration.timeSource.now()
    self.plan = plan
  }

  /// Ends the call successfully, unless its caller has cancelled it: a cancelled caller always gets the cancellation
  /// error.
  func end(
    with response: ResourceResponse, of attempt: AttemptRun
  ) throws(HTTPFetchError<any Error>) -> ResourceResponse {
    settleQuota(after: attempt)
    // Since the attempt checked for cancellation, only `succeeded` hooks can have waited.
    guard !plan.hooks.contains(.succeeded) || !Task.isCancelled else {
      attempts = response.attempts
      throw ended(cancelled(nil, attempt), attempt)
    }
    emit(.callEnded(.success(response)), of: attempt)
    if let body = attempt.observedBody { body.begin() } else { attempt.options.progress?.finish() }
    return response
  }

  /// Returns the ledger of the call so far.
  func ledger(of attempt: AttemptRun, retryEnd: Retry.End? = nil) -> AttemptLedger {
    AttemptLedger(
      callID: callID, method: attempt.request?.head.method, url: attempt.request?.url, redaction: attempt.redaction,
      operation: attempt.options.operation, idempotencyKey: attempt.idempotencyKey,
      limit: plan.timeouts(for: attempt.options).total, elapsed: plan.configuration.timeSource.now() - start,
      attempts: attempts, retryEnd: retryEnd)
  }

  /// Reports an event to the observers.
  ///
  /// - Parameter attempt: the attempt that is running or ended last; `nil` before the first.
  func emit(_ kind: @autoclosure () -> FetchEvent.Kind, of attempt: AttemptRun?) {
    guard !plan.configuration.observers.isEmpty else { return }
    let event = event(kind(), of: attempt)
    for observer in plan.configuration.observers { observer.observe(event) }
  }

  private func event(_ kind: FetchEvent.Kind, of attempt: AttemptRun?) -> FetchEvent {
    // A successful attempt is recorded only in the ledger of the response.
    let number =
      switch kind {
      case .attemptStarted, .transferStarted, .transferEnded: attempts.count + 1
      case .attemptEnded(let attempt): attempt.number
      case .callEnded(.success(let response)): response.attempts.count
      default: attempts.count
      }
    let time = plan.configuration.timeSource
    return FetchEvent(
      kind, callID: callID, attempt: number, hop: attempt?.hops ?? 0,
      operation: (attempt?.options ?? plan.options).operation, isStream: plan.isStream, time: time.now(),
      sinceEpoch: time.sinceEpoch())
  }
}

/// Assigns numbers to the calls of the process.
private enum CallCounter {
  private static let last = Atomic<UInt64>(0)

  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
