// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// The refreshes of a ``BearerAuthenticator``, and the requests that wait for them.
///
/// It has no clock, no tasks and no lock: its owner passes the time, and performs the steps in their order.
struct RefreshMachine {
  /// The result of waiting for a token.
  enum Settled: Sendable {
    case token(AccessToken)
    case failed(any Error)
    /// The application set another token.
    case replaced
  }

  /// The reason why a token is needed.
  enum Need {
    case request(hasFailed: Bool)
    /// A server refused a request that had this token.
    case refused(Secret)
  }

  /// An action that the owner performs.
  enum Step {
    /// Call the source for a refresh, limit the call's time, and stop waiting for the refresh's turn.
    case ask(UInt64, replacing: AccessToken?)
    /// Wait until it is the turn of a new refresh, and limit the time of the wait.
    case waitForTurn(UInt64)
    /// Cancel the call of the source and the time limits of a refresh, which is over.
    case cancel(UInt64)
    /// End the wait of requests.
    case settle([UInt64], Settled)
  }

  /// A refresh in progress.
  struct Flight {
    let id: UInt64
    /// Whether a server refused a request that had the token to be replaced.
    var isRefused = false
    var start: Duration
    /// Whether the source was called. If not, it has not returned from an earlier call.
    var hasAsked = false
  }

  private(set) var tokens: TokenMachine
  private(set) var flight: Flight?
  /// The requests that wait for the current refresh, or for a replacement to finish.
  private(set) var waiters: Set<UInt64> = []
  /// The refresh whose source has not returned yet, even if no request waits for its result any more.
  private(set) var asking: UInt64?
  /// The number of replacements in progress. While there are any, no refresh starts.
  private(set) var replacements = 0
  private var lastID: UInt64 = 0

  init(_ tokens: TokenMachine) { self.tokens = tokens }

  /// The state of the refresh, as input for the decisions about tokens.
  private var refresh: TokenMachine.Refresh {
    if replacements > 0 { return .refused }
    return flight.map { $0.isRefused ? .refused : .ahead } ?? .none
  }

  /// Returns a new identifier, for a refresh or for a request that may wait.
  mutating func makeID() -> UInt64 {
    lastID += 1
    return lastID
  }

  // MARK: Requests

  /// Returns the token if it can be used without a refresh. `call` is 0 if it is not known.
  mutating func ready(for call: UInt64, at now: Duration) -> AccessToken? {
    tokens.ready(for: call, isRefused: refresh == .refused, at: now)
  }

  /// Returns the result for a request, or `nil` if it waits from here on.
  ///
  /// - Parameter waiter: the identifier of the request's wait, from ``makeID()``.
  mutating func settle(
    _ need: Need, call: UInt64, waiter: UInt64, at now: Duration, _ steps: inout [Step]
  ) -> Settled? {
    let decision: TokenMachine.Decision
    var isRefused = false
    switch need {
    case .request(let hasFailed): decision = tokens.decide(for: call, hasFailed: hasFailed, refresh: refresh, at: now)
    case .refused(let carried):
      guard tokens.isCurrent(carried) else { return .replaced }
      decision = tokens.decide(refused: call, refresh: refresh, at: now)
      isRefused = true
    }
    switch decision {
    case .use(let token): return .token(token)
    case .fail(let error): return .failed(error)
    case .join: if isRefused { flight?.isRefused = true }
    case .begin(let token):
      begin(isRefused: isRefused, at: now, &steps)
      if let token { return .token(token) }
    }
    waiters.insert(waiter)
    return nil
  }

  /// Ends the wait of a request that was cancelled. The refresh continues.
  mutating func left(_ waiter: UInt64) { waiters.remove(waiter) }

  // MARK: Refreshes

  /// Begins a refresh. It calls the source, or waits while the source has not returned from an earlier call: a server
  /// treats a refresh token that is sent twice as stolen.
  private mutating func begin(isRefused: Bool, at now: Duration, _ steps: inout [Step]) {
    let id = makeID()
    flight = Flight(id: id, isRefused: isRefused, start: now)
    if asking == nil { askNext(at: now, &steps) } else { steps.append(.waitForTurn(id)) }
  }

  /// Calls the source for the current refresh, unless that was done.
  private mutating func askNext(at now: Duration, _ steps: inout [Step]) {
    guard let id = flight?.id, flight?.hasAsked == false else { return }
    flight?.start = now
    flight?.hasAsked = true
    asking = id
    steps.append(.ask(id, replacing: tokens.current(at: now)))
  }

  /// Records that a refresh has waited for its turn for too long: the source did not return from the earlier call.
  mutating func waitedTooLong(_ id: UInt64, at now: Duration, _ steps: inout [Step]) {
    if flight?.id == id { askNext(at: now, &steps) }
  }

  /// Records the result of a call of the source, which may be late.
  mutating func sourceReturned(
    _ id: UInt64, _ result: Result<AccessToken, any Error>, at now: Duration, _ steps: inout [Step]
  ) {
    if asking == id {
      asking = nil
      if flight?.id != id { askNext(at: now, &steps) }
    }
    end(id, result, at: now, &steps)
  }

  /// Ends a refresh whose source has not returned within the time limit.
  mutating func timedOut(_ id: UInt64, _ error: AccessTokenError, at now: Duration, _ steps: inout [Step]) {
    end(id, .failure(error), at: now, &steps)
  }

  /// Ends a refresh with the source's result or with the timeout, whichever comes first.
  private mutating func end(
    _ id: UInt64, _ result: Result<AccessToken, any Error>, at now: Duration, _ steps: inout [Step]
  ) {
    guard let flight, flight.id == id else { return }
    self.flight = nil
    tokens.storeResult(result, start: flight.start, now: now)
    steps.append(.cancel(id))
    switch result {
    case .success(let token): settleAll(.token(token), &steps)
    case .failure(let error): settleAll(.failed(error), &steps)
    }
  }

  private mutating func settleAll(_ settled: Settled, _ steps: inout [Step]) {
    if !waiters.isEmpty { steps.append(.settle(waiters.sorted(), settled)) }
    waiters = []
  }

  // MARK: Replacements

  /// Begins to replace the token: the current refresh ends, and no other begins until the end of the replacement.
  mutating func beginReplacement(_ steps: inout [Step]) {
    replacements += 1
    guard let id = flight.take()?.id else { return }
    steps.append(.cancel(id))
  }

  /// Stores the token that the application set.
  mutating func endReplacement(with token: AccessToken?, at now: Duration, _ steps: inout [Step]) {
    replacements -= 1
    tokens.replace(with: token, at: now)
    settleAll(.replaced, &steps)
  }

  /// Keeps the token's remaining lifetime on another clock.
  mutating func changeClock(from before: Duration, to now: Duration) {
    if let token = tokens.current(at: before) { tokens.replace(with: token, at: now) }
  }
}
