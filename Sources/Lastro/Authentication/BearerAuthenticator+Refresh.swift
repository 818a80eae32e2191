// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

extension BearerAuthenticator {
  /// How a wait for a token ended.
  enum Settled: Sendable {
    case token(AccessToken)
    case failed(any Error)
    /// The application put another token in place.
    case replaced
  }

  /// What a token is needed for.
  enum Need {
    case request(hasFailed: Bool)
    /// A request was refused with this token in it.
    case refused(Secret)
  }

  struct State {
    var machine: TokenMachine
    var flight: Flight?
    /// Requests that wait for the refresh that runs, or for a replacement to be complete.
    var waiters: [UInt64: CheckedContinuation<Settled, any Error>] = [:]
    /// The refresh whose source has not returned, also when no request waits for its answer any more.
    var asking: UInt64?
    /// Number of replacements that are on their way: no refresh begins.
    var replacements = 0
    var lastID: UInt64 = 0

    /// What the machine is told.
    var refresh: TokenMachine.Refresh {
      if replacements > 0 { return .refused }
      return flight.map { $0.isRefused ? .refused : .ahead } ?? .none
    }

    mutating func makeID() -> UInt64 {
      lastID += 1
      return lastID
    }

    /// Takes the refresh that runs, or the one with that number if it still does.
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

  /// A refresh that runs.
  struct Flight {
    let id: UInt64
    /// Whether a request was refused with the token that it replaces.
    var isRefused = false
    /// On whose behalf it runs: the task that began it may be refreshing for another authenticator.
    let marks: Set<UInt64>
    /// The stack whose call began it.
    let stack: CallingStack?
    var start: Duration
    /// Asks the source; `nil` while the source has not returned from an earlier refresh.
    var task: Task<Void, Never>?
    /// The time for that, or for the wait before it.
    var timeout: Task<Void, Never>

    /// Not to be called with the lock held.
    func cancel() {
      task?.cancel()
      timeout.cancel()
    }
  }

  /// The token for a request; waits for a refresh where one is needed.
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

  /// Decides, and waits where that is the decision: one step under the lock, so that no refresh ends in between.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  func settle(_ need: Need, call: UInt64) async throws -> Settled {
    let waiter = state.withLock { $0.makeID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let now = timeSource.now()
        let settled: Result<Settled, any Error>? = state.withLock { state in
          // A cancellation from here on finds the waiter, because its handler needs the lock.
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

  /// `nil`: wait for the refresh that runs now.
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
      begin(&state, isRefused: isRefused, at: now)
      return token.map { .token($0) }
    }
  }

  /// Begins a refresh: asks the source, or, while that has not returned from an earlier call, waits for it. A refresh
  /// token that is sent twice counts as stolen.
  private func begin(_ state: inout State, isRefused: Bool, at now: Duration) {
    let id = state.makeID()
    let marks = Self.refreshing.union([self.id])
    let stack = CallingStack.current
    let mustWait = state.asking != nil
    state.flight = Flight(
      id: id, isRefused: isRefused, marks: marks, stack: stack, start: now,
      task: mustWait ? nil : ask(id, marks, stack, &state, at: now),
      timeout: mustWait ? after(refreshTimeout) { $0.askAtLast(id) } : timeout(id))
  }

  /// Asks the source. Its task does not keep the authenticator, which ends it when it is dropped.
  private func ask(
    _ id: UInt64, _ marks: Set<UInt64>, _ stack: CallingStack?, _ state: inout State, at now: Duration
  ) -> Task<Void, Never> {
    state.asking = id
    let old = state.machine.current(at: now)
    let source = source
    return Task { [weak self] in
      let result: Result<AccessToken, any Error>
      do {
        let token = try await CallingStack.$current.withValue(stack) {
          try await Self.$refreshing.withValue(marks) { try await source.token(replacing: old) }
        }
        result = .success(token)
      } catch {
        result = .failure(error)
      }
      self?.finish(id, result, hasReturned: true)
    }
  }

  private func timeout(_ id: UInt64) -> Task<Void, Never> {
    let error = AccessTokenError.refreshTimedOut(refreshTimeout)
    return after(refreshTimeout) { $0.finish(id, .failure(error), hasReturned: false) }
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

  /// The source did not return from the earlier call in good time: asks it all the same.
  private func askAtLast(_ id: UInt64) {
    let now = timeSource.now()
    state.withLock { state in
      if state.flight?.id == id { askNext(&state, at: now) }
    }
  }

  /// Asks for a refresh that waited until it could.
  private func askNext(_ state: inout State, at now: Duration) {
    guard var flight = state.flight, flight.task == nil else { return }
    let patience = flight.timeout
    flight.start = now
    flight.task = ask(flight.id, flight.marks, flight.stack, &state, at: now)
    flight.timeout = timeout(flight.id)
    state.flight = flight
    // A sleep that ends under the lock takes no lock of ours: its task goes on elsewhere.
    patience.cancel()
  }

  /// Whichever of answer and timeout comes first ends the refresh.
  private func finish(_ id: UInt64, _ result: Result<AccessToken, any Error>, hasReturned: Bool) {
    let now = timeSource.now()
    let (flight, waiters) = state.withLock { state -> (Flight?, [CheckedContinuation<Settled, any Error>]) in
      if hasReturned, state.asking == id {
        state.asking = nil
        if state.flight?.id != id { askNext(&state, at: now) }
      }
      guard let flight = state.takeFlight(id) else { return (nil, []) }
      state.machine.finish(result, start: flight.start, now: now)
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

  /// Puts another token in place in three steps, for the source is not to be called with the lock held: no refresh
  /// begins, the source forgets, the token is there. A refresh in between would be told of the old token by an old
  /// caller, or have its refresh token forgotten.
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
