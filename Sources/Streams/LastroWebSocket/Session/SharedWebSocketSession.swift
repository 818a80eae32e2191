// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport
internal import LastroWire
internal import Synchronization

/// A ``WebSocketSession`` that tasks share. It adds a lock, waiting, and the clock that the session needs.
///
/// A call takes the lock once. The consequences are handled after the lock is released: requests are answered, waiting
/// tasks are resumed, and the stream is closed at the end.
final class SharedWebSocketSession: Sendable {
  /// The state in an object, because a ``Lock`` requires a copyable value.
  private final class Contents {
    var state: SharedWebSocketState

    init(state: consuming SharedWebSocketState) { self.state = state }
  }

  typealias Body<Value> = (inout SharedWebSocketState, Duration) -> Value

  let stream: any ByteStream
  private let time: TimeSource
  private let random: RandomSource
  private let contents: Lock<Contents>
  private let lastID = Atomic<UInt64>(0)

  init(
    _ stream: any ByteStream, _ configuration: WebSocketConfiguration, _ deflate: WebSocketDeflate?,
    random: RandomSource, time: TimeSource
  ) {
    self.stream = stream
    self.time = time
    self.random = random
    contents = Lock(Contents(state: SharedWebSocketState(configuration, deflate, now: time.now())))
  }

  /// Returns a unique number for a message, a ping or a waiting task.
  func makeID() -> UInt64 { lastID.wrappingAdd(1, ordering: .relaxed).newValue }

  /// Runs a task that is cancelled when the stream is closed.
  func run(_ body: @escaping @Sendable () async -> Void) {
    let task = Task { await body() }
    let isLate = change { state, _ in
      state.tasks.append(task)
      return state.session.phase == .done
    }
    // The stream was closed before the task was registered, so nothing else cancels the task.
    if isLate { task.cancel() }
  }

  /// Changes the state and handles the consequences. `body` runs with the lock held and gets the current time.
  @discardableResult
  func change<Value>(_ body: Body<Value>) -> Value {
    let now = time.now()
    let (value, consequences) = contents.withLock { contents in
      let value = body(&contents.state, now)
      return (value, contents.state.takeConsequences())
    }
    for (answer, result) in consequences.answers { answer.resume(returning: result) }
    for waiter in consequences.woken { waiter.resume() }
    if consequences.beginsLimits { run { await self.limitLoop() } }
    if consequences.closesStream {
      stream.close()
      for task in consequences.cancelled { task.cancel() }
    }
    return value
  }

  /// Waits until `body` returns a value. It is called at once, and again after each of the signals. Returns `nil` if
  /// the task is cancelled first.
  func wait<Value>(for signals: SharedWebSocketState.Signals, _ body: Body<Value?>) async -> Value? {
    var value = change(body)
    let id = makeID()
    while value == nil, !Task.isCancelled {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isOver = change { state, now in
            value = body(&state, now)
            if value != nil || Task.isCancelled { return true }
            state.waiters.add(id, for: signals, continuation)
            return false
          }
          if isOver { continuation.resume() }
        }
      } onCancel: {
        change { state, _ in state.waiters.take(id) }?.resume()
      }
      if value == nil { value = change(body) }
    }
    return value
  }

  /// Makes a request and waits for its answer. When the task is cancelled, the request is abandoned.
  func answer(to id: UInt64, _ request: Body<Void>) async -> SharedWebSocketState.Answer {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = change { state, now in
          if Task.isCancelled { return true }
          state.requests[id] = continuation
          request(&state, now)
          return false
        }
        if isCancelled { continuation.resume(returning: .failure(.cancelled)) }
      }
    } onCancel: {
      change { state, _ in state.giveUp(id) }?.resume(returning: .failure(.cancelled))
    }
  }

  /// Waits for the final state; returns `nil` when the task is cancelled.
  func lastState() async -> WebSocketState? {
    await wait(for: .news) { state, _ in state.current.isTerminal ? state.current : nil }
  }

  // MARK: time

  func keepAliveLoop() async {
    while let due = change({ state, _ in state.session.keepAliveDue }) {
      do { try await time.sleep(max(.zero, due - time.now())) } catch { return }
      tick(due)
    }
  }

  /// Waits for the next deadline, or for a change of the deadline.
  private func limitLoop() async {
    while let deadline = change({ state, _ in state.session.deadline }) {
      let rest = max(.zero, deadline - time.now())
      let outcome = await interruptible(within: rest, time: time) { [self] in
        await wait(for: .deadline) { state, _ in state.session.deadline == deadline ? nil : () }
      }
      switch outcome {
      case .success: continue
      case .failure(.limit): tick(deadline)
      case .failure(.cancelled): return
      }
    }
  }

  /// - Parameter due: the time that has been reached, even if the clock reads less.
  private func tick(_ due: Duration) {
    let nonce = random.next()
    change { $0.session.tick(now: max($1, due), nonce: nonce) }
  }
}
