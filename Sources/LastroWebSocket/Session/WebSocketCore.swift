// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// What drives a WebSocket: one task that reads, one that writes, one that pings.
///
/// The tasks hold it; the ``WebSocket`` in front of it ends them when it is dropped.
final class WebSocketCore: Sendable {
  struct State {
    var outbox = WebSocketOutbox()
    var pings = WebSocketPings()
    var log: WebSocketLog
    var history: [WebSocketState] = [.open]
    var receivedPings = RecentElements<Data>(capacity: 16)
    var initiator = WebSocketClose.Initiator.local
    var received: (code: UInt16?, reason: String)?
    var isCloseWritten = false
    /// Whether nothing moves over the stream any more.
    var isStreamDone = false
    /// Why nothing can be sent any more, while what the server sent is still read.
    var writeError: TransportError?
    /// Whether pieces were dropped: none may follow.
    var isCut = false
    var pulse = WebSocketPulse()
    var tasks: [Task<Void, Never>] = []

    var current: WebSocketState { history[history.count - 1] }
    var isEnded: Bool { current.isTerminal }
    var isOpen: Bool { if case .open = current { true } else { false } }
    var canSend: Bool { isOpen && writeError == nil }
    /// Whether the Close frame is out, or never will be.
    var isWritingOver: Bool { isCloseWritten || isStreamDone || writeError != nil }
    /// Whether we began to close, so that what nobody reads may be dropped.
    var isLeaving: Bool { !isOpen && initiator == .local }

    var close: WebSocketClose {
      WebSocketClose(
        code: received?.code.map(WebSocketCloseCode.init), reason: received?.reason ?? "",
        isClean: received != nil && isCloseWritten, initiator: initiator)
    }

    /// What is told to those who come too late.
    var refusal: WebSocketError {
      switch current {
      case .failed(let error): error
      case .closed(let close): .closed(close)
      case .open, .closing: writeError.map { WebSocketError(lost: $0) } ?? .closed(nil)
      }
    }
  }

  /// How long the server has to end the connection once both have said Close, before we do.
  static let lingerLimit = Duration.seconds(1)

  let stream: any ByteStream
  let configuration: WebSocketConfiguration
  let deflate: WebSocketDeflate?
  let random: RandomSource
  let time: TimeSource
  let monitor: Monitor<State>

  init(
    _ stream: any ByteStream, configuration: WebSocketConfiguration, deflate: WebSocketDeflate?, random: RandomSource,
    time: TimeSource
  ) {
    self.stream = stream
    self.configuration = configuration
    self.deflate = deflate
    self.random = random
    self.time = time
    monitor = Monitor(State(log: WebSocketLog(capacity: configuration.receiveBufferBytes)))
  }

  /// - Parameter leftover: bytes that came right behind the handshake.
  func start(leftover: [UInt8]) {
    run { await $0.readLoop(leftover) }
    run { await $0.writeLoop() }
    if let interval = configuration.keepAlive { run { await $0.keepAliveLoop(interval) } }
  }

  func run(_ body: @escaping @Sendable (WebSocketCore) async -> Void) {
    let task = Task { await body(self) }
    let isLate = monitor.change { state in
      state.tasks.append(task)
      return state.isStreamDone
    }
    // Who ended the stream did not see it.
    if isLate { task.cancel() }
  }

  var maskKey: UInt32 { UInt32(truncatingIfNeeded: random.next()) }

  // MARK: the end

  /// Comes to the last state, unless it is there, and tells everybody who waits.
  ///
  /// - Parameter closingStream: false where a Close frame may still be on its way.
  /// - Returns: whether it has come there now.
  @discardableResult
  func end(
    closingStream: Bool = true, onlyIfSending: Bool = false, _ last: (State) -> WebSocketState
  ) -> Bool {
    let (isNew, answers, pongs, tasks, error) = monitor.change { state in
      if closingStream { state.isStreamDone = true }
      let tasks = closingStream ? state.tasks : []
      guard onlyIfSending ? state.canSend : !state.isEnded else {
        return (false, [WebSocketOutbox.Answer](), [WebSocketPings.Answer](), tasks, state.refusal)
      }
      state.history.append(last(state))
      return (true, state.outbox.clear(), state.pings.takeAll(), tasks, state.refusal)
    }
    for answer in answers { answer.resume(returning: .failure(error)) }
    for pong in pongs { pong.resume(returning: .failure(error)) }
    if closingStream { stream.close() }
    for task in tasks { task.cancel() }
    return isNew
  }

  /// The stream ended, or broke.
  func lost(_ error: TransportError?) {
    end { state in
      if state.isOpen { return .failed(WebSocketError(lost: state.writeError ?? error)) }
      return .closed(state.close)
    }
  }

  /// One that has ended is left to say so to the server.
  func drop() {
    if !monitor.read(\.isEnded) { cut("the last reference to the WebSocket was dropped") }
  }

  func cut(_ message: String = "the WebSocket was cut") { end { _ in .failed(WebSocketError(.dropped, message)) } }

  // MARK: closing

  /// Begins to close, and says so to the server. False when that was begun before.
  @discardableResult
  func beginClosing(
    _ initiator: WebSocketClose.Initiator, code: UInt16?, reason: String, flushing: Bool
  ) -> Bool {
    let isFirst = monitor.change { state in
      guard state.isOpen else { return false }
      state.initiator = initiator
      state.history.append(.closing)
      state.outbox.setClose(code: code, reason: reason, flushing: flushing)
      return true
    }
    guard isFirst else { return false }
    run { core in
      do { try await core.time.limit(core.configuration.closeTimeout) } catch { return }
      core.end { .closed($0.close) }
    }
    return true
  }

  func close(_ code: WebSocketCloseCode?, _ reason: String) async throws(WebSocketError) -> WebSocketClose {
    beginClosing(.local, code: code?.rawValue, reason: reason, flushing: true)
    guard await monitor.wait(until: \.isEnded) else { throw .cancelled }
    switch monitor.read(\.current) {
    case .closed(let close): return close
    case .failed(let error): throw error
    case .open, .closing: throw .closed(nil)
    }
  }
}
