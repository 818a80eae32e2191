// SPDX-License-Identifier: Apache-2.0

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
    var lastID: UInt64 = 0

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
  }

  /// A refresh that runs, and who waits for it.
  struct Flight {
    let id: UInt64
    let start: Duration
    let task: Task<Void, Never>
    let timeout: Task<Void, Never>
    var waiters: [UInt64: CheckedContinuation<Settled, any Error>] = [:]

    func cancel() {
      task.cancel()
      timeout.cancel()
    }

    /// Ends the tasks and tells the waiters. Not to be called with the lock held.
    func end(_ settled: Settled) {
      cancel()
      for waiter in waiters.values { waiter.resume(returning: settled) }
    }
  }

  /// The token for a request; waits for a refresh where one is needed.
  func token(for call: UInt64, hasFailed: Bool) async throws -> AccessToken {
    let now = timeSource.now()
    let ready = state.withLock { $0.machine.ready(for: call, isRefreshing: $0.flight != nil, at: now) }
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
          state.flight?.waiters[waiter] = continuation
          return nil
        }
        if let settled { continuation.resume(with: settled) }
      }
    } onCancel: {
      state.withLock { $0.flight?.waiters.removeValue(forKey: waiter) }?.resume(throwing: CancellationError())
    }
  }

  /// `nil`: wait for the refresh that runs now.
  private func decide(_ need: Need, call: UInt64, at now: Duration, _ state: inout State) -> Settled? {
    let isRefreshing = state.flight != nil
    let decision: TokenMachine.Decision
    switch need {
    case .request(let hasFailed):
      decision = state.machine.decide(for: call, hasFailed: hasFailed, isRefreshing: isRefreshing, at: now)
    case .refused(let carried):
      guard state.machine.isCurrent(carried) else { return .replaced }
      decision = state.machine.decide(refused: call, isRefreshing: isRefreshing, at: now)
    }
    switch decision {
    case .use(let token): return .token(token)
    case .fail(let error): return .failed(error)
    case .join: return nil
    case .begin(let old):
      state.flight = begin(state.makeID(), replacing: old, at: now)
      return nil
    }
  }

  /// Starts the refresh and its timeout. Their tasks do not keep the authenticator: it ends them when it is dropped.
  private func begin(_ id: UInt64, replacing old: AccessToken?, at now: Duration) -> Flight {
    let source = source
    let marks = Self.refreshing.union([self.id])
    let task = Task { [weak self] in
      let result: Result<AccessToken, any Error>
      do {
        result = .success(
          try await Self.$refreshing.withValue(marks) { try await source.token(replacing: old) })
      } catch {
        result = .failure(error)
      }
      self?.finish(id, result)
    }
    let limit = refreshTimeout
    let wait = timeSource.limit
    let timeout = Task { [weak self] in
      guard (try? await wait(limit)) != nil else { return }
      self?.finish(id, .failure(AccessTokenError.refreshTimedOut(limit)))
    }
    return Flight(id: id, start: now, task: task, timeout: timeout)
  }

  /// Whichever of answer and timeout comes first ends the refresh.
  private func finish(_ id: UInt64, _ result: Result<AccessToken, any Error>) {
    let now = timeSource.now()
    let flight = state.withLock { state in
      guard let flight = state.takeFlight(id) else { return Flight?.none }
      state.machine.finish(result, start: flight.start, now: now)
      return flight
    }
    switch result {
    case .success(let token): flight?.end(.token(token))
    case .failure(let error): flight?.end(.failed(error))
    }
  }
}
