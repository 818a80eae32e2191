// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// One call: attempts until one succeeds, nobody wants another, or a veto or the deadline ends it.
struct FetchCall<Output: Sendable> {
  let plan: FetchPlan<Output>
  let callID: UInt64
  /// When the call began, on the plan's clock.
  let start: Duration
  var retryState = Retry.State.empty
  var attempts: [Attempt] = []
  var current = CurrentAttempt()
  /// The options of the latest request: those of the resource where no request could be made yet.
  var effective: RequestOptions

  /// The running attempt.
  struct CurrentAttempt {
    /// When it began.
    var start = Duration.zero
    /// The wait before it, and why it is made.
    var delay = Duration.zero
    var reason = "first"
    var redirects = RedirectTracker()
    var redirectedFrom: ResourceResponse?
    /// The first request handed to the transport: retrying means sending that again.
    var firstRequest: ResourceRequest?
    var wasScheduled = false
    /// Whether a byte of any of its requests may have left.
    var requestSent = false
    var consumption: BodyConsumption?
  }

  init(_ plan: FetchPlan<Output>) {
    self.plan = plan
    effective = plan.options
    callID = CallCounter.next()
    start = plan.configuration.timeSource.now()
  }

  var context: AttemptContext {
    AttemptContext(
      callID: callID, attempt: attempts.count + 1, retryState: retryState, hop: current.redirects.hops,
      redirectedFrom: current.redirectedFrom, wasScheduled: current.wasScheduled)
  }

  /// Runs the call to its one end.
  mutating func run<APIError>(
    failingWith type: APIError.Type
  ) async throws(HTTPFetchError<APIError>) -> Network.Value<Output, ResourceResponse> {
    do throws(HTTPFetchError<any Error>) {
      let value = try await repeatedAttempts()
      // Whoever cancelled before the end is never handed a value.
      guard !Task.isCancelled else {
        attempts = value.response.attempts
        throw cancelled(nil)
      }
      return value
    } catch {
      throw HTTPFetchError<APIError>(error.record)
    }
  }

  private mutating func repeatedAttempts() async throws(HTTPFetchError<any Error>)
    -> Network.Value<Output, ResourceResponse>
  {
    while true {
      do throws(AttemptFailure) {
        return try await attempt()
      } catch {
        try await recover(from: error)
      }
    }
  }

  /// Asks the interceptors, and returns when the call is to be tried again.
  private mutating func recover(from failure: AttemptFailure) async throws(HTTPFetchError<any Error>) {
    abridgeLastError()
    let context = context
    attempts.append(describe(failure))
    let error = HTTPFetchError<any Error>(failure.record.ending(attempts: attempts))
    var action = Retry.Action.none
    for interceptor in plan.interceptors {
      let opinion = await interceptor.interceptFailed(
        failure.request, response: error.response, body: failure.body, error: error, context: context)
      action = plan.retryActionPriority(action, opinion)
    }
    retryState.errors.append(error)
    if Task.isCancelled || error.isCancelled { throw cancelled(error) }
    try await follow(action, after: error)
  }

  /// The state keeps every failure, but the body of the last one only: a hundred retries are not to hold a hundred
  /// bodies.
  private mutating func abridgeLastError() {
    guard let last = retryState.errors.popLast() else { return }
    retryState.errors.append(
      (last as? HTTPFetchError<any Error>).map { HTTPFetchError<any Error>($0.record.abridged) } ?? last)
  }

  private mutating func follow(
    _ action: Retry.Action, after error: HTTPFetchError<any Error>
  ) async throws(HTTPFetchError<any Error>) {
    let veto = veto(of: error)
    let delay: Retry.Delay
    switch action {
    case .none: throw error
    case .noRetry(let reason):
      if let veto, veto.isFinal { throw error }
      throw ending(error, as: .retry(reason, retryState))
    case .retry: delay = 0
    case .retryAfter(let seconds): delay = seconds > 0 ? seconds : 0
    }
    if let veto { throw ending(error, notRetried: veto.explanation) }
    let limit = plan.configuration.maximumAttempts
    guard attempts.count < limit else {
      throw ending(error, as: .retry(.custom(AttemptLimitReached(limit: limit)), retryState))
    }
    current = CurrentAttempt()
    current.reason = error.reasonOfRetry
    if delay > 0 { try await wait(delay, after: error) }
  }

  private mutating func wait(
    _ seconds: Retry.Delay, after failure: HTTPFetchError<any Error>
  ) async throws(HTTPFetchError<any Error>) {
    // Some thirty years: longer is as good as for ever, and `Duration` traps on what it cannot hold.
    let delay = Duration.seconds(min(seconds, 1e9))
    if let left = timeLeft(options: effective), delay >= left {
      throw ending(failure, notRetried: "a wait of \(seconds) s does not end before the total deadline, in \(left)")
    }
    retryState.totalDelay += seconds
    current.delay = delay
    do {
      try await plan.configuration.timeSource.sleep(delay)
    } catch {
      throw cancelled(failure)
    }
  }

  private func veto(of error: HTTPFetchError<any Error>) -> RetryVeto? {
    if error.stage == .trust || RetryVeto.certificateRefusals.contains(error.code) { return .trust }
    if error.code == .totalTimeout { return .deadlinePassed }
    if let left = timeLeft(options: effective), left <= .zero { return .deadlinePassed }
    if current.consumption?.isConsumed == true { return .bodyConsumed }
    // A refusal after a redirect is one of another request: the first was acted on.
    let isRefusal = current.redirects.hops == 0 && RetryVeto.refusals.contains(error.statusCode?.code ?? 0)
    if let request = current.firstRequest, current.requestSent, !request.isIdempotent, !isRefusal {
      return .notIdempotent(request.head.method.rawValue)
    }
    return nil
  }

  /// Time until the total deadline; `nil` when there is none.
  func timeLeft(options: RequestOptions) -> Duration? {
    plan.timeouts(for: options).total.map { $0 - (plan.configuration.timeSource.now() - start) }
  }

  private func describe(_ failure: AttemptFailure) -> Attempt {
    let outcome: Attempt.Outcome =
      switch failure.record.kind {
      case .cancelled: .cancelled
      case .http: .status
      default: .failed
      }
    return Attempt(
      outcome: outcome, status: failure.record.response?.status, error: failure.record.transportError,
      requestSent: current.requestSent, delay: current.delay, reason: current.reason,
      redirects: current.redirects.urls, facts: failure.facts)
  }

  private func ending(
    _ error: HTTPFetchError<any Error>, as kind: FailureRecord.Kind? = nil, notRetried: String? = nil
  ) -> HTTPFetchError<any Error> {
    HTTPFetchError(error.record.ending(as: kind, attempts: attempts, notRetried: notRetried))
  }

  /// The cancelled error as the end of the call. A stack that was shut down says so, in its own.
  private func cancelled(_ error: HTTPFetchError<any Error>?) -> HTTPFetchError<any Error> {
    if let error, error.isCancelled { return ending(error) }
    let wasSent = attempts.contains(where: \.requestSent) || current.requestSent
    return HTTPFetchError(
      FailureRecord(.cancelled(.cancelled(requestSent: wasSent)), request: error?.request, attempts: attempts))
  }
}

extension HTTPFetchError {
  fileprivate var reasonOfRetry: String {
    if case .http(let status) = record.kind { "status \(status.code)" } else { "\(stage.rawValue)/\(code)" }
  }
}

/// Numbers the calls of the process.
private enum CallCounter {
  private static let last = Atomic<UInt64>(0)

  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
