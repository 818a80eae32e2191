// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// The state that the threads of a ``LoopbackServer`` share. The threads retain it, but not the server itself.
final class LoopbackCore: Sendable {
  typealias Handler = @Sendable (LoopbackConnection) throws -> Void

  /// Unchecked because a thread handle crosses threads only under the lock below.
  struct Thread: @unchecked Sendable {
    let handle: OpaquePointer
  }

  /// The TLS context and the fault for new connections.
  struct TLS {
    let context: TLSContext
    let fault: LoopbackTLS.HandshakeFault?
  }

  struct State {
    var isStopping = false
    var acceptor: Thread?
    var threads: [Int: Thread] = [:]
    var finished: [Thread] = []
    var descriptors: [Int: Int32] = [:]
    var accepted = 0
    var handshakes = 0
    var resumptions = 0
    var receivedBytes = 0
    var tls: TLS?
    var requests: [LoopbackRequest] = []
    var errors: [any Error] = []
    var stopSource: Int32
    var nextWaiter: UInt64 = 0
    var requestWaiters = CountWaiters()
    var completionWaiters = CountWaiters()
    var connectionWaiters = CountWaiters()
  }

  /// The size suffices for OpenSSL and a JSON encoder under a sanitizer; only touched pages use memory.
  private static let stackSize = 512 * 1024

  /// A descriptor that becomes readable when the server is stopped.
  let stopSignal: Int32
  let state: Lock<State>
  /// Held while threads are joined, so that a second caller of `stop` returns no sooner than the first.
  private let joining = Lock(())
  let listener: Int32
  private let socketPath: String?
  private let handler: Handler

  init(
    listener: Int32, socketPath: String?, tls: TLS?, handler: @escaping Handler
  ) throws(LoopbackError) {
    var stopSignal: Int32 = -1
    var stopSource: Int32 = -1
    guard cloopback_pipe(&stopSignal, &stopSource) else {
      cloopback_close(listener)
      throw .outOfResources("a pipe could not be made")
    }
    self.stopSignal = stopSignal
    self.listener = listener
    self.socketPath = socketPath
    self.handler = handler
    state = Lock(State(tls: tls, stopSource: stopSource))
  }

  deinit {
    requestStop()
    cloopback_close(stopSignal)
  }

  // MARK: threads

  /// Starts a thread that retains this object. It is called under the lock, so that the thread is registered before it
  /// ends.
  private func startThread(_ body: @escaping @Sendable () -> Void) -> Thread? {
    final class Box {
      let body: @Sendable () -> Void
      init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = Unmanaged.passRetained(Box(body))
    let tag = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    let handle = cloopback_thread_start(
      Self.stackSize, tag, { Unmanaged<Box>.fromOpaque($0).takeRetainedValue().body() }, box.toOpaque())
    if handle == nil { box.release() }
    return handle.map(Thread.init)
  }

  func start() throws(LoopbackError) {
    let started = state.withLock { state in
      state.acceptor = startThread { [self] in acceptLoop() }
      return state.acceptor != nil
    }
    if !started {
      cloopback_close(listener)
      throw .outOfResources("a thread could not be started")
    }
  }

  private func acceptLoop() {
    while cloopback_wait(stopSignal, listener, -1, -1) & Int32(CLOOPBACK_WAIT_FIRST) == 0 {
      joinFinished()
      let descriptor = cloopback_accept(listener)
      if descriptor >= 0 {
        admit(descriptor)
      } else {
        // The client is already gone, or no descriptors are left. In the latter case the listener stays readable, so
        // pause to avoid spinning.
        _ = cloopback_wait(stopSignal, -1, -1, 1)
      }
    }
    cloopback_close(listener)
  }

  private func admit(_ descriptor: Int32) {
    let due = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      guard !state.isStopping else {
        cloopback_close(descriptor)
        return []
      }
      state.accepted += 1
      let number = state.accepted
      let thread = startThread { [self] in serve(descriptor, number: number) }
      if let thread {
        state.threads[number] = thread
        state.descriptors[number] = descriptor
      } else {
        cloopback_close(descriptor)
        state.errors.append(LoopbackError.outOfResources("a thread could not be started"))
      }
      return state.connectionWaiters.take(reached: state.accepted)
    }
    for waiter in due { waiter.resume() }
  }

  private func serve(_ descriptor: Int32, number: Int) {
    let connection = LoopbackConnection(core: self, number: number, descriptor: descriptor)
    do {
      var runs = true
      if let tls = state.withLock({ $0.tls }) { runs = try connection.startTLS(tls.context, fault: tls.fault) }
      if runs {
        let isResumed = connection.isResumed
        state.withLock { state in
          state.handshakes += 1
          if isResumed { state.resumptions += 1 }
        }
        try handler(connection)
      }
    } catch {
      state.withLock { $0.errors.append(error) }
    }
    connection.close()
    state.withLock { state in
      if let thread = state.threads.removeValue(forKey: number) { state.finished.append(thread) }
    }
  }

  private func joinFinished() {
    let finished = state.withLock { state in
      defer { state.finished = [] }
      return state.finished
    }
    for thread in finished { cloopback_thread_join(thread.handle) }
  }

  /// Closes a descriptor under the lock, so that ``requestStop()`` never shuts down a reused descriptor.
  func close(_ descriptor: Int32, of number: Int) {
    state.withLock { state in
      state.descriptors[number] = nil
      cloopback_close(descriptor)
    }
  }

  // MARK: stopping

  func closeConnections() {
    state.withLock { state in
      for descriptor in state.descriptors.values { cloopback_shutdown(descriptor, true) }
    }
  }

  /// Wakes every thread and every waiting task.
  private func requestStop() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      guard !state.isStopping else { return [] }
      state.isStopping = true
      cloopback_close(state.stopSource)
      if let socketPath { cloopback_unlink(socketPath) }
      for descriptor in state.descriptors.values { cloopback_shutdown(descriptor, true) }
      return state.requestWaiters.takeAll() + state.completionWaiters.takeAll() + state.connectionWaiters.takeAll()
    }
    for waiter in waiters { waiter.resume(throwing: LoopbackError.stopped) }
  }

  /// - Parameter isLast: whether no further call can follow, so that threads that cannot be joined are detached.
  func stop(isLast: Bool) {
    requestStop()
    if cloopback_thread_tag() == UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) {
      // A handler cannot wait for its own end.
      if isLast { takeThreads().forEach { cloopback_thread_detach($0.handle) } }
      return
    }
    joining.withLock { _ in takeThreads().forEach { cloopback_thread_join($0.handle) } }
  }

  private func takeThreads() -> [Thread] {
    state.withLock { state in
      let all = (state.acceptor.map { [$0] } ?? []) + state.threads.values + state.finished
      state.acceptor = nil
      state.threads = [:]
      state.finished = []
      return all
    }
  }
}

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
      state.requests[index].trailerFields = trailers
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
