// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire
internal import Synchronization

/// The driver of a ``WebSocketSession`` over a stream: a task that reads, a task that writes, and the requests of the
/// application. The rules of WebSocket are all in the session.
///
/// The tasks share the session behind a lock, which a call takes once. The consequences are handled after the lock is
/// released: requests are answered, waiting tasks are resumed, and the stream is closed at the end.
///
/// The tasks retain the driver; the ``WebSocket`` in front of it ends them when it is dropped.
final class WebSocketCore: Sendable {
  /// The state in an object, because a ``Lock`` requires a copyable value.
  private final class Contents {
    var state: SharedWebSocketState

    init(state: consuming SharedWebSocketState) { self.state = state }
  }

  typealias Body<Value> = (inout SharedWebSocketState, Duration) -> Value

  let stream: any ByteStream
  let configuration: WebSocketConfiguration
  let isCompressing: Bool
  private let random: RandomSource
  let time: TimeSource
  private let contents: Lock<Contents>
  private let lastID = Atomic<UInt64>(0)

  init(
    _ stream: any ByteStream, configuration: WebSocketConfiguration, deflate: WebSocketDeflate?, random: RandomSource,
    time: TimeSource
  ) {
    self.stream = stream
    self.configuration = configuration
    self.random = random
    self.time = time
    isCompressing = deflate != nil
    contents = Lock(Contents(state: SharedWebSocketState(configuration, deflate, now: time.now())))
  }

  func start() {
    run { await self.readLoop() }
    run { await self.writeLoop() }
    if configuration.keepAlive != nil { run { await self.keepAliveLoop() } }
  }

  // MARK: the shared state

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

  // MARK: the stream

  private func readLoop() async {
    var arrived: Data?
    while true {
      let intake = await wait(for: .intake) { state, now in
        if let data = arrived.take() { data.withUnsafeBytes { state.session.receive($0) } }
        return state.nextIntake(now)
      }
      switch intake {
      case .work, .wait: continue
      case .over, nil: return
      case .read:
        do throws(TransportError) {
          arrived = try await stream.read()
          if arrived == nil { change { $0.session.receivedEnd(now: $1) } }
        } catch {
          change { $0.broke(error, isWriting: false, $1) }
        }
      }
    }
  }

  /// Writes the output. It is the only task that writes, so that a frame that was begun is always completed while the
  /// socket lives.
  func writeLoop() async {
    var keys: [UInt32] = [], written = 0
    while true {
      // Draw the masking keys without the lock: a source of randomness may be the application's code.
      while keys.count < 32 {
        let bits = random.next()
        keys += [UInt32(truncatingIfNeeded: bits), UInt32(truncatingIfNeeded: bits >> 32)]
      }
      let output = await wait(for: .output) { state, now in
        if written > 0 { state.session.wrote(written, now: now) }
        written = 0
        return state.session.output(keys: &keys)
      }
      switch output {
      case .over, nil: return
      case .finish: try? await stream.finishWriting()
      case .bytes(let bytes):
        do throws(TransportError) { written = try await write(bytes) } catch {
          change { $0.broke(error, isWriting: true, $1) }
        }
      }
    }
  }

  /// Writes the bytes in pieces, so that the keep-alive notices progress on a slow connection. Returns the length of
  /// the last piece, which was not reported to the session.
  private func write(_ bytes: [UInt8]) async throws(TransportError) -> Int {
    var rest = bytes[...]
    while rest.count > WebSocketSession.batchBytes {
      try await stream.write(Data(rest.prefix(WebSocketSession.batchBytes)))
      change { $0.session.wrote(WebSocketSession.batchBytes, now: $1) }
      rest = rest.dropFirst(WebSocketSession.batchBytes)
    }
    try await stream.write(Data(rest))
    return rest.count
  }

  // MARK: requests

  /// - Parameter taken: set to true when the message was queued.
  func send(_ message: WebSocketSession.Outgoing, taken: Lock<Bool>? = nil) async throws(WebSocketError) {
    _ = try await answer(to: message.id) { state, _ in
      if state.session.send(message) { taken?.withLock { $0 = true } }
    }.get()
  }

  /// - Parameter payload: the payload; `nil` for a unique one.
  func ping(_ payload: Data?, within limit: Duration?) async throws(WebSocketError) -> WebSocketPong {
    let id = makeID()
    let payload = payload.map(Array.init) ?? withUnsafeBytes(of: random.next().bigEndian) { Array($0) }
    let outcome = await interruptible(within: limit, time: time) { [self] in
      await answer(to: id) { $0.session.ping(id, payload: payload, now: $1) }
    }
    switch outcome {
    case .success(let result):
      guard let pong = try result.get() else { throw .closed(nil) }
      return pong
    case .failure(.limit): throw .lacksPong(within: limit)
    case .failure(.cancelled): throw .cancelled
    }
  }

  func close(_ code: WebSocketCloseCode?, _ reason: String) async throws(WebSocketError) -> WebSocketClose {
    change { state, now in
      state.endedByApplication()
      state.session.close(code: code?.rawValue, reason: reason, now: now)
    }
    return try await ended()
  }

  func ended() async throws(WebSocketError) -> WebSocketClose {
    switch await lastState() {
    case .closed(let close): return close
    case .failed(let error): throw error
    case .open, .closing, nil: throw .cancelled
    }
  }

  // MARK: time

  private func keepAliveLoop() async {
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
