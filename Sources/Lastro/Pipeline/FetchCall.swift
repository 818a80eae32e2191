// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// One call: attempts until one succeeds, no interceptor wants another, or a veto or the deadline ends it.
///
/// An object, because it lives in the frames of functions that wait: what is held by value there is held by each of
/// them. One task has it, and no access to a variable spans another.
final class FetchCall {
  let plan: FetchPlan
  let callID: UInt64
  /// When the call began, on the plan's clock.
  let start: Duration
  @exclusivity(unchecked) var retryState = Retry.State.empty
  @exclusivity(unchecked) var attempts: [Attempt] = []
  @exclusivity(unchecked) var current = CurrentAttempt()
  /// The options of the latest request: those of the resource where no request could be made yet.
  @exclusivity(unchecked) var effective: RequestOptions
  /// The latest request, as far as it was made.
  @exclusivity(unchecked) var latest: ResourceRequest?
  /// Its URL, once it is final.
  @exclusivity(unchecked) var latestURL: String?
  /// The `Idempotency-Key` that all attempts carry.
  @exclusivity(unchecked) var idempotencyKey: String?
  /// The body of the opened stream, where it is observed.
  @exclusivity(unchecked) var observedBody: ObservedBody?
  /// What the texts of the call mask: the usual names, and what its requests named so far.
  @exclusivity(unchecked) var redaction: Redaction

  /// The running attempt.
  struct CurrentAttempt {
    /// When it began.
    var start = Duration.zero
    /// The time spent on making requests.
    var preparation = Duration.zero
    /// The wait before it, and why it is made.
    var delay = Duration.zero
    var delaySource = Attempt.DelaySource.none
    var reason = "first"
    /// What the retry cost, and what was left.
    var payment: (origin: Origin, amount: Int, left: Int)?
    var redirects = RedirectTracker()
    var redirectedFrom: ResourceResponse?
    /// The first request handed to the transport: retrying means sending that again.
    var firstRequest: ResourceRequest?
    var wasScheduled = false
    /// Whether the latest request was handed to the transport: what fails before is not the server's fault.
    var wasTransferred = false
    /// Whether a byte of any of its requests may have left.
    var requestSent = false
    var consumption: BodyConsumption?
  }

  init(_ plan: FetchPlan) {
    self.plan = plan
    effective = plan.options
    redaction = Redaction.standard.adding(plan.options)
    callID = CallCounter.next()
    start = plan.configuration.timeSource.now()
  }

  var context: AttemptContext {
    AttemptContext(
      callID: callID, attempt: attempts.count + 1, retryState: retryState, hop: current.redirects.hops,
      redirectedFrom: current.redirectedFrom, wasScheduled: current.wasScheduled)
  }

  /// Runs the call to its one end.
  func run() async throws(HTTPFetchError<any Error>) -> Network.Value<FetchedValue, ResourceResponse> {
    emit(.callStarted)
    do throws(HTTPFetchError<any Error>) {
      let value = try await repeatedAttempts()
      // A caller that cancelled before the end never gets a value.
      guard !Task.isCancelled else {
        attempts = value.response.attempts
        throw cancelled(nil)
      }
      emit(.callEnded(.success(value.response)))
      if let observedBody { observedBody.begin() } else { effective.progress?.finish() }
      return value
    } catch {
      effective.progress?.finish()
      emit(.callEnded(.failure(error)))
      throw error
    }
  }

  private func repeatedAttempts() async throws(HTTPFetchError<any Error>)
    -> Network.Value<FetchedValue, ResourceResponse>
  {
    while true {
      do throws(AttemptFailure) {
        emit(.attemptStarted(number: attempts.count + 1))
        let value = try await attempt()
        settleQuota(isFirst: attempts.isEmpty)
        return value
      } catch {
        try await recover(from: error)
      }
    }
  }

  /// Time until the total deadline; `nil` when there is none.
  func timeLeft(options: RequestOptions) -> Duration? {
    plan.timeouts(for: options).total.map { $0 - (plan.configuration.timeSource.now() - start) }
  }

  /// The account of the call up to now.
  func ledger(attempts: [Attempt], retryEnd: Retry.End? = nil, at now: Duration? = nil) -> AttemptLedger {
    AttemptLedger(
      callID: callID, method: latest?.head.method, url: latestURL ?? latest?.url, redaction: redaction,
      operation: effective.operation, idempotencyKey: idempotencyKey, limit: plan.timeouts(for: effective).total,
      elapsed: (now ?? plan.configuration.timeSource.now()) - start, attempts: attempts, retryEnd: retryEnd)
  }

  /// Tells observers.
  func emit(_ kind: @autoclosure () -> FetchEvent.Kind) {
    guard !plan.configuration.observers.isEmpty else { return }
    let event = event(kind())
    for observer in plan.configuration.observers { observer.observe(event) }
  }

  private func event(_ kind: FetchEvent.Kind) -> FetchEvent {
    // A successful attempt is in the response's account only.
    let number =
      switch kind {
      case .attemptStarted, .transferStarted, .transferEnded: attempts.count + 1
      case .attemptEnded(let attempt): attempt.number
      case .callEnded(.success(let response)): response.attempts.count
      default: attempts.count
      }
    let time = plan.configuration.timeSource
    return FetchEvent(
      kind, callID: callID, attempt: number, hop: current.redirects.hops, operation: effective.operation,
      isStream: plan.isStream, time: time.now(), sinceEpoch: time.sinceEpoch())
  }
}

/// Numbers the calls of the process.
private enum CallCounter {
  private static let last = Atomic<UInt64>(0)

  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
