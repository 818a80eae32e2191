// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

/// Performs the steps of the ``RefreshMachine``.
extension BearerAuthenticator {
  typealias Waiter = CheckedContinuation<RefreshMachine.Settled, any Error>

  struct State {
    var machine: RefreshMachine
    /// The requests that wait, by their identifiers in the machine.
    var waiters: [UInt64: Waiter] = [:]
    /// The tasks of the current refresh.
    var errand: Errand?
  }

  /// The tasks of a refresh in progress.
  struct Errand {
    /// The authenticators for which the refresh runs: the task that started it may itself be refreshing for another
    /// authenticator.
    let marks: Set<UInt64>
    /// The stack whose call started the refresh.
    let stack: CallingStack?
    /// The task that calls the source; `nil` while the source has not returned from an earlier refresh.
    var task: Task<Void, Never>?
    /// The task that enforces the time limit of that call, or of the wait before it.
    var timeout: Task<Void, Never>?

    /// Cancels both tasks. Must not be called with the lock held.
    func cancel() {
      task?.cancel()
      timeout?.cancel()
    }
  }

  /// The consequences of steps that must not happen with the lock held.
  struct Aftermath {
    var cancelled: [Errand] = []
    var settled: [(waiter: Waiter, result: RefreshMachine.Settled)] = []

    func perform() {
      for errand in cancelled { errand.cancel() }
      for (waiter, result) in settled { waiter.resume(returning: result) }
    }
  }

  /// Returns the token for a request. Waits for a refresh if one is needed.
  func token(for call: UInt64, hasFailed: Bool) async throws -> AccessToken {
    let now = timeSource.now()
    if let ready = state.withLock({ $0.machine.ready(for: call, at: now) }) { return ready }
    while true {
      switch try await settle(.request(hasFailed: hasFailed), call: call) {
      case .token(let token): return token
      case .replaced: continue
      case .failed(let error):
        let now = timeSource.now()
        if let token = state.withLock({ $0.machine.tokens.valid(at: now) }) { return token }
        throw error
      }
    }
  }

  /// Decides, and waits if the decision requires it. Both happen in one step under the lock, so that no refresh ends in
  /// between.
  ///
  /// - Throws: `CancellationError`, promptly when the task is cancelled.
  func settle(_ need: RefreshMachine.Need, call: UInt64) async throws -> RefreshMachine.Settled {
    let waiter = state.withLock { $0.machine.makeID() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let now = timeSource.now()
        let settled: Result<RefreshMachine.Settled, any Error>? = state.withLock { state in
          // A later cancellation finds the waiter, because its handler needs the lock.
          if Task.isCancelled { return .failure(CancellationError()) }
          var steps: [RefreshMachine.Step] = []
          let settled = state.machine.settle(need, call: call, waiter: waiter, at: now, &steps)
          // A refresh that begins ends no other, and no wait.
          _ = perform(steps, &state)
          if let settled { return .success(settled) }
          state.waiters[waiter] = continuation
          return nil
        }
        if let settled { continuation.resume(with: settled) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        state.machine.left(waiter)
        return state.waiters.removeValue(forKey: waiter)
      }
      continuation?.resume(throwing: CancellationError())
    }
  }

  /// Reports an event to the machine, and performs the steps that follow.
  private func tell(_ event: (inout RefreshMachine, inout [RefreshMachine.Step]) -> Void) {
    let aftermath = state.withLock { state in
      var steps: [RefreshMachine.Step] = []
      event(&state.machine, &steps)
      return perform(steps, &state)
    }
    aftermath.perform()
  }

  private func perform(_ steps: [RefreshMachine.Step], _ state: inout State) -> Aftermath {
    var aftermath = Aftermath()
    for step in steps {
      switch step {
      case .ask(let id, let old):
        var errand = state.errand ?? makeErrand()
        // Cancelling may end a sleep while the lock is held. That is safe: the sleeping task continues on another
        // thread and takes none of our locks here.
        errand.timeout?.cancel()
        errand.task = ask(id, errand.marks, errand.stack, replacing: old)
        errand.timeout = after(refreshTimeout) { authenticator in
          let error = AccessTokenError.refreshTimedOut(authenticator.refreshTimeout)
          let now = authenticator.timeSource.now()
          authenticator.tell { $0.timedOut(id, error, at: now, &$1) }
        }
        state.errand = errand
      case .waitForTurn(let id):
        var errand = makeErrand()
        errand.timeout = after(refreshTimeout) { authenticator in
          let now = authenticator.timeSource.now()
          authenticator.tell { $0.waitedTooLong(id, at: now, &$1) }
        }
        state.errand = errand
      case .cancel:
        // There is one refresh at a time, so the tasks are those of this one.
        if let errand = state.errand.take() { aftermath.cancelled.append(errand) }
      case .settle(let waiters, let result):
        for waiter in waiters {
          if let continuation = state.waiters.removeValue(forKey: waiter) {
            aftermath.settled.append((continuation, result))
          }
        }
      }
    }
    return aftermath
  }

  /// Returns the tasks of a refresh that the current task begins, none of which has started.
  private func makeErrand() -> Errand {
    Errand(marks: Self.refreshing.union([id]), stack: CallingStack.current)
  }

  /// Calls the source in a task. The task does not retain the authenticator, which cancels it in `deinit`.
  private func ask(
    _ id: UInt64, _ marks: Set<UInt64>, _ stack: CallingStack?, replacing old: AccessToken?
  ) -> Task<Void, Never> {
    let source = source
    return Task { [weak self] in
      let result: Result<AccessToken, any Error> = await Result { () async throws in
        try await CallingStack.$current.withValue(stack) {
          try await Self.$refreshing.withValue(marks) { try await source.token(replacing: old) }
        }
      }
      guard let self else { return }
      let now = timeSource.now()
      tell { $0.sourceReturned(id, result, at: now, &$1) }
    }
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

  /// Replaces the token in three steps, because the source must not be called with the lock held: block new refreshes,
  /// let the source forget, and store the token. Without the block, a refresh in between could pass the old token to
  /// the source, or lose its own refresh token when the source forgets.
  func replaceAll(with token: AccessToken?) {
    tell { $0.beginReplacement(&$1) }
    source.forget()
    let now = timeSource.now()
    tell { $0.endReplacement(with: token, at: now, &$1) }
  }
}
