// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// The state that the threads of a ``LoopbackServer`` share. The threads retain it, but not the server itself.
final class LoopbackCore: Sendable {
  typealias Handler = @Sendable (LoopbackConnection) throws -> Void

  struct State {
    var isStopping = false
    var acceptor: LoopbackThread?
    var threads: [Int: LoopbackThread] = [:]
    var finished: [LoopbackThread] = []
    var descriptors: [Int: Int32] = [:]
    var accepted = 0
    var handshakes = 0
    var resumptions = 0
    var receivedBytes = 0
    /// The TLS of new connections.
    var tls: TLSContext?
    var requests: [LoopbackRequest] = []
    var errors: [any Error] = []
  }

  /// Open when the server is stopped.
  private let stopGate: LoopbackGate
  /// A descriptor that becomes readable when the server is stopped.
  var stopSignal: Int32 { stopGate.readEnd }
  let state: Watched<State>
  /// Held while threads are joined, so that a second caller of `stop` returns no sooner than the first.
  private let joining = Lock(())
  let listener: Int32
  private let socketPath: String?
  private let handler: Handler
  let bounds: LoopbackBounds?

  init(
    listener: Int32, socketPath: String?, tls: TLSContext?, bounds: LoopbackBounds? = nil, handler: @escaping Handler
  ) throws(LoopbackError) {
    do throws(LoopbackError) {
      stopGate = try LoopbackGate()
    } catch {
      cloopback_close(listener)
      throw error
    }
    self.listener = listener
    self.socketPath = socketPath
    self.handler = handler
    self.bounds = bounds
    state = Watched(State(tls: tls))
  }

  deinit { requestStop() }

  // MARK: threads

  func start() throws(LoopbackError) {
    let started = state.change { state in
      state.acceptor = LoopbackThread(of: self) { [self] in acceptLoop() }
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
    state.change { state in
      guard !state.isStopping, state.descriptors.count < bounds?.connections ?? .max else {
        cloopback_close(descriptor)
        return
      }
      state.accepted += 1
      let number = state.accepted
      // Start it under the lock, so that it is registered before it ends.
      let thread = LoopbackThread(of: self) { [self] in serve(descriptor, number: number) }
      if let thread {
        state.threads[number] = thread
        state.descriptors[number] = descriptor
      } else {
        cloopback_close(descriptor)
        if bounds == nil { state.errors.append(LoopbackError.outOfResources("a thread could not be started")) }
      }
    }
  }

  private func serve(_ descriptor: Int32, number: Int) {
    let connection = LoopbackConnection(core: self, number: number, descriptor: descriptor)
    if let bounds { cloopback_limit_sending(descriptor, bounds.idleMilliseconds) }
    do {
      var runs = true
      if let tls = state.read({ $0.tls }) { runs = try connection.startTLS(tls) }
      if runs {
        let isResumed = connection.isResumed
        state.change { state in
          state.handshakes += 1
          if isResumed { state.resumptions += 1 }
        }
        try handler(connection)
      }
    } catch {
      if bounds == nil { state.change { $0.errors.append(error) } }
    }
    connection.close()
    state.change { state in
      if let thread = state.threads.removeValue(forKey: number) { state.finished.append(thread) }
    }
  }

  private func joinFinished() {
    let finished = state.change { state in
      defer { state.finished = [] }
      return state.finished
    }
    for thread in finished { thread.join() }
  }

  /// Closes a descriptor under the lock, so that ``requestStop()`` never shuts down a reused descriptor.
  func close(_ descriptor: Int32, of number: Int) {
    state.change { state in
      state.descriptors[number] = nil
      cloopback_close(descriptor)
    }
  }

  // MARK: stopping

  func closeConnections() {
    state.change { state in
      for descriptor in state.descriptors.values { cloopback_shutdown(descriptor, true) }
    }
  }

  /// Wakes every thread and every waiting task.
  private func requestStop() {
    state.change { state in
      guard !state.isStopping else { return }
      state.isStopping = true
      stopGate.open()
      if let socketPath { cloopback_unlink(socketPath) }
      for descriptor in state.descriptors.values { cloopback_shutdown(descriptor, true) }
    }
  }

  /// - Parameter isLast: whether no further call can follow, so that threads that cannot be joined are detached.
  func stop(isLast: Bool) {
    requestStop()
    if LoopbackThread.isCurrent(of: self) {
      // A handler cannot wait for its own end.
      if isLast { takeThreads().forEach { $0.detach() } }
      return
    }
    joining.withLock { _ in takeThreads().forEach { $0.join() } }
  }

  private func takeThreads() -> [LoopbackThread] {
    state.change { state in
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
    if bounds == nil { state.change { $0.requests.append(request) } }
  }

  func received(_ count: Int) {
    if count > 0 { state.change { $0.receivedBytes += count } }
  }

  /// Adds the body to the latest request of the connection, and of the stream if there are streams.
  func complete(connection: Int, stream: UInt32? = nil, body: [UInt8], trailers: [RawRequestHead.Field]) {
    state.change { state in
      guard let index = state.index(connection, stream) else { return }
      state.requests[index].body = body
      state.requests[index].trailerFields = trailers
      state.requests[index].isComplete = true
    }
  }

  func reset(connection: Int, stream: UInt32, _ code: LoopbackHTTP2Code) {
    state.change { state in
      if let index = state.index(connection, stream) { state.requests[index].resetCode = code }
    }
  }

  /// Suspends until the state meets a condition.
  ///
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  func wait(until isMet: @escaping @Sendable (State) -> Bool) async throws {
    guard await state.wait(until: { isMet($0) || $0.isStopping }) else { throw CancellationError() }
    if !state.read(isMet) { throw LoopbackError.stopped }
  }
}

extension LoopbackCore.State {
  fileprivate func index(_ connection: Int, _ stream: UInt32?) -> Int? {
    requests.lastIndex { $0.connection == connection && $0.stream == stream }
  }

  var completed: Int { requests.count { $0.isComplete } }
}
