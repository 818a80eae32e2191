// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroSupport

extension LoopbackCore {
  func record(_ request: LoopbackRequest) {
    let due = state.withLock { state in
      state.requests.append(request)
      return state.requestWaiters.take(reached: state.requests.count) + state.takeCompletionWaiters()
    }
    for waiter in due { waiter.resume() }
  }

  func received(_ count: Int) {
    if count > 0 { state.withLock { $0.receivedBytes += count } }
  }

  /// Adds the body to the latest request of the connection, and of the stream if there are streams.
  func complete(connection: Int, stream: UInt32? = nil, body: [UInt8], trailers: [RawRequestHead.Field]) {
    let due = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      guard let index = state.index(connection, stream) else { return [] }
      state.requests[index].body = body
      state.requests[index].trailers = trailers
      state.requests[index].isComplete = true
      return state.takeCompletionWaiters()
    }
    for waiter in due { waiter.resume() }
  }

  func reset(connection: Int, stream: UInt32, _ code: LoopbackHTTP2Code) {
    state.withLock { state in
      if let index = state.index(connection, stream) { state.requests[index].resetCode = code }
    }
  }

  /// Suspends until a count reaches a threshold.
  func wait(
    for threshold: Int, counting count: @escaping @Sendable (State) -> Int,
    in waiters: any WritableKeyPath<State, CountWaiters> & Sendable
  ) async throws {
    let id = state.withLock { state in
      state.nextWaiter += 1
      return state.nextWaiter
    }
    defer { state.withLock { $0[keyPath: waiters].forget(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome: Result<Void, any Error>? = state.withLock { state in
          if count(state) >= threshold { return .success(()) }
          if state.isStopping { return .failure(LoopbackError.stopped) }
          let waiter = CountWaiters.Waiter(threshold: threshold, continuation: continuation)
          return state[keyPath: waiters].add(id, waiter) ? nil : .failure(CancellationError())
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0[keyPath: waiters].cancel(id) }?.resume(throwing: CancellationError())
    }
  }
}

extension LoopbackCore.State {
  fileprivate func index(_ connection: Int, _ stream: UInt32?) -> Int? {
    requests.lastIndex { $0.connection == connection && $0.stream == stream }
  }

  var completed: Int { requests.count { $0.isComplete } }

  mutating func takeCompletionWaiters() -> [CheckedContinuation<Void, any Error>] {
    completionWaiters.isEmpty ? [] : completionWaiters.take(reached: completed)
  }
}
