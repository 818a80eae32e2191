// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

extension BearerAuthenticator {
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

  struct State {
    var machine: TokenMachine
    var flight: Flight?
    /// The requests that wait for the current refresh, or for a replacement to finish.
    var waiters: [UInt64: CheckedContinuation<Settled, any Error>] = [:]
    /// The refresh whose source has not returned yet, even if no request waits for its result any more.
    var asking: UInt64?
    /// The number of replacements in progress. While there are any, no refresh starts.
    var replacements = 0
    var lastID: UInt64 = 0

    /// The state of the refresh, as input for the machine.
    var refresh: TokenMachine.Refresh {
      if replacements > 0 { return .refused }
      return flight.map { $0.isRefused ? .refused : .ahead } ?? .none
    }

    mutating func makeID() -> UInt64 {
      lastID += 1
      return lastID
    }

    /// Removes and returns the current refresh. With an identifier, it does so only if the current refresh has that
    /// identifier.
    mutating func takeFlight(_ id: UInt64? = nil) -> Flight? {
      guard let flight, id == nil || flight.id == id else { return nil }
      self.flight = nil
      return flight
    }

    mutating func takeWaiters() -> [CheckedContinuation<Settled, any Error>] {
      defer { waiters = [:] }
      return Array(waiters.values)
    }
  }

  /// A refresh in progress.
  struct Flight {
    let id: UInt64
    /// Whether a server refused a request that had the token to be replaced.
    var isRefused = false
    /// The authenticators for which it runs: the task that started it may itself be refreshing for another
    /// authenticator.
    let marks: Set<UInt64>
    /// The stack whose call started the refresh.
    let stack: CallingStack?
    var start: Duration
    /// The task that calls the source; `nil` while the source has not returned from an earlier refresh.
    var task: Task<Void, Never>?
    /// The task that enforces the time limit of that call, or of the wait before it.
    var timeout: Task<Void, Never>

    /// Cancels both tasks. Must not be called with the lock held.
    func cancel() {
      task?.cancel()
      timeout.cancel()
    }
  }

  /// Returns the token for a request. Waits for a refresh if one is needed.
  func token(for call: UInt64, hasFailed: Bool) async throws -> AccessToken {
    let now = timeSource.now()
    let ready = state.withLock { $0.machine.ready(for: call, isRefused: $0.refresh == .refused, at: now) }
    if let ready { return ready }
    while true {
      switch try await settle(.request(hasFailed: hasFailed), call: call) {
      case .token(let token): return token
      case .replaced: continue
      case .failed(let error):
        let now = timeSource.now()
        if let token = state.withLock({ $0.machine.valid(at: now) }) { return token }
        throw error
      }
    }
  }

  /// Decides, and waits if the decision requires it. Both happen in one step under the lock, so that no refresh ends in
  /// between.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  func settle(_ need: Need, call: UInt64) async throws -> Settled {
    let waiter = state.withLock { $0.makeID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let now = timeSource.now()
        let settled: Result<Settled, any Error>? = state.withLock { state in
          // A later cancellation finds the waiter, because its handler needs the lock.
          if Task.isCancelled { return .failure(CancellationError()) }
          if let settled = decide(need, call: call, at: now, &state) { return .success(settled) }
          state.waiters[waiter] = continuation
          return nil
        }
        if let settled { continuation.resume(with: settled) }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume(throwing: CancellationError())
    }
  }

  /// Returns the result for a request, or `nil` if it must wait for the current refresh.
  private func decide(_ need: Need, call: UInt64, at now: Duration, _ state: inout State) -> Settled? {
    let refresh = state.refresh
    let decision: TokenMachine.Decision
    var isRefused = false
    switch need {
    case .request(let hasFailed):
      decision = state.machine.decide(for: call, hasFailed: hasFailed, refresh: refresh, at: now)
    case .refused(let carried):
      guard state.machine.isCurrent(carried) else { return .replaced }
      decision = state.machine.decide(refused: call, refresh: refresh, at: now)
      isRefused = true
    }
    switch decision {
    case .use(let token): return .token(token)
    case .fail(let error): return .failed(error)
    case .join:
      if isRefused { state.flight?.isRefused = true }
      return nil
    case .begin(let token):
      startRefresh(&state, isRefused: isRefused, at: now)
      return token.map { .token($0) }
    }
  }

  /// Starts a refresh. It calls the source, or waits while the source has not returned from an earlier call: a server
  /// treats a refresh token that is sent twice as stolen.
  private func startRefresh(_ state: inout State, isRefused: Bool, at now: Duration) {
    let id = state.makeID()
    let marks = Self.refreshing.union([self.id])
    let stack = CallingStack.current
    let mustWait = state.asking != nil
    state.flight = Flight(
      id: id, isRefused: isRefused, marks: marks, stack: stack, start: now,
      task: mustWait ? nil : ask(id, marks, stack, &state, at: now),
      timeout: mustWait ? after(refreshTimeout) { $0.askAtLast(id) } : timeout(id))
  }

  /// Calls the source in a task. The task does not retain the authenticator, which cancels it in `deinit`.
  private func ask(
    _ id: UInt64, _ marks: Set<UInt64>, _ stack: CallingStack?, _ state: inout State, at now: Duration
  ) -> Task<Void, Never> {
    state.asking = id
    let old = state.machine.current(at: now)
    let source = source
    return Task { [weak self] in
      let result: Result<AccessToken, any Error> = await Result { () async throws in
        try await CallingStack.$current.withValue(stack) {
          try await Self.$refreshing.withValue(marks) { try await source.token(replacing: old) }
        }
      }
      self?.endRefresh(id, result, hasReturned: true)
    }
  }

  private func timeout(_ id: UInt64) -> Task<Void, Never> {
    let error = AccessTokenError.refreshTimedOut(refreshTimeout)
    return after(refreshTimeout) { $0.endRefresh(id, .failure(error), hasReturned: false) }
  }

  private func after(
    _ limit: Duration, _ body: @escaping @Sendable (BearerAuthenticator) -> Void
  ) -> Task<Void, Never> {
    let wait = timeSource.limit
    return Task { [weak self] in
      guard (try? await wait(limit)) != nil, let self else { return }
      body(self)
    }
  }

  /// Calls the source even though it did not return from the earlier call in time.
  private func askAtLast(_ id: UInt64) {
    let now = timeSource.now()
    state.withLock { state in
      if state.flight?.id == id { askNext(&state, at: now) }
    }
  }

  /// Calls the source for a refresh that waited for its turn.
  private func askNext(_ state: inout State, at now: Duration) {
    guard var flight = state.flight, flight.task == nil else { return }
    let patience = flight.timeout
    flight.start = now
    flight.task = ask(flight.id, flight.marks, flight.stack, &state, at: now)
    flight.timeout = timeout(flight.id)
    state.flight = flight
    // Cancelling may end a sleep while the lock is held. That is safe: the sleeping task continues on another thread
    // and takes none of our locks here.
    patience.cancel()
  }

  /// Ends the refresh, with the source's result or with the timeout, whichever comes first.
  private func endRefresh(_ id: UInt64, _ result: Result<AccessToken, any Error>, hasReturned: Bool) {
    let now = timeSource.now()
    let (flight, waiters) = state.withLock { state -> (Flight?, [CheckedContinuation<Settled, any Error>]) in
      if hasReturned, state.asking == id {
        state.asking = nil
        if state.flight?.id != id { askNext(&state, at: now) }
      }
      guard let flight = state.takeFlight(id) else { return (nil, []) }
      state.machine.storeResult(result, start: flight.start, now: now)
      return (flight, state.takeWaiters())
    }
    flight?.cancel()
    let settled: Settled
    switch result {
    case .success(let token): settled = .token(token)
    case .failure(let error): settled = .failed(error)
    }
    for waiter in waiters { waiter.resume(returning: settled) }
  }

  /// Replaces the token in three steps, because the source must not be called with the lock held: block new refreshes,
  /// let the source forget, and store the token. Without the block, a refresh in between could pass the old token to
  /// the source, or lose its own refresh token when the source forgets.
  func replaceAll(with token: AccessToken?) {
    let flight = state.withLock { state in
      state.replacements += 1
      return state.takeFlight()
    }
    flight?.cancel()
    source.forget()
    let now = timeSource.now()
    let waiters = state.withLock { state in
      state.replacements -= 1
      state.machine.replace(with: token, at: now)
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume(returning: .replaced) }
  }
}
