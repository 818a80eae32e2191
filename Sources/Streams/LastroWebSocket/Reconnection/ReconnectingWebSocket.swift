// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A sequence of sockets and waits; see ``WebSocketClient/reconnecting(to:headers:policy:stableAfter:onReopen:)``.
struct ReconnectingWebSocket: AsyncSequence, Sendable {
  typealias Element = WebSocketClient.Event
  typealias Failure = WebSocketError

  /// The default policy.
  static let standardPolicy = Retry.Policy<Duration>.backoff(
    .exponential(
      baseDelay: .milliseconds(500), scale: Retry.Backoff.fullJitter(cap: .seconds(30)), until: .maxRetries(20)))

  let client: WebSocketClient
  let resource: RawHTTPResource
  let policy: Retry.Policy<Duration>
  let stableAfter: Duration
  let onReopen: @Sendable (WebSocket) async throws -> Void

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  /// An iterator that connects, waits for the end of each socket, and consults the policy; it may be used by one task
  /// at a time.
  struct AsyncIterator: AsyncIteratorProtocol {
    private let rules: ReconnectingWebSocket
    private var socket: WebSocket?
    private var openedAt = Duration.zero
    private var state = Retry.State.empty
    private var delay: Duration?
    private var hasOpened = false

    fileprivate init(_ rules: ReconnectingWebSocket) { self.rules = rules }
  }
}

extension ReconnectingWebSocket.AsyncIterator {
  private static var keptErrors: Int { 1000 }
  private var time: TimeSource { rules.client.stack.timeSource }

  /// Returns the next event; `nil` when the socket was closed properly. A cancelled wait throws `cancelled`; the next
  /// call continues it.
  ///
  /// - Throws: ``WebSocketError``: the last loss when the policy gives up; `cancelled`.
  mutating func next() async throws(WebSocketError) -> WebSocketClient.Event? { try await next(isolation: nil) }

  mutating func next(isolation actor: isolated (any Actor)?) async throws(WebSocketError) -> WebSocketClient.Event? {
    if let socket {
      guard let last = await socket.core.lastState() else { throw .cancelled }
      self.socket = nil
      return try socket.core.change { state, _ in state.isReplaced } ? replaced(last) : ended(last)
    }
    if let delay {
      do { try await time.sleep(delay) } catch { throw .cancelled }
      self.delay = nil
    }
    do throws(WebSocketError) {
      return .opened(try await open())
    } catch {
      if error.isCancelled { throw error }
      return try waiting(error, openFor: .zero)
    }
  }

  private mutating func open() async throws(WebSocketError) -> WebSocket {
    let socket = try await rules.client.connect(to: rules.resource)
    if hasOpened {
      do {
        try await rules.onReopen(socket)
      } catch {
        socket.cut()
        if Task.isCancelled { throw .cancelled }
        throw .refusedReopening(error)
      }
    }
    hasOpened = true
    self.socket = socket
    if rules.client.configuration.reconnectsWhenOutdated { socket.core.closeWhenOutdated() }
    openedAt = time.now()
    return socket
  }

  /// Begins the replacement of an outdated socket, which is no loss. It takes more than a second, after which a dial
  /// checks files again. The delay is random, because files change for many sockets at once.
  private mutating func replaced(_ last: WebSocketState) -> WebSocketClient.Event {
    state = .empty
    let wait = Duration.milliseconds(1_100) + .milliseconds(1_900) * rules.client.stack.randomSource.unit()
    delay = wait
    let cause: WebSocketError =
      switch last {
      case .closed(let close): .closed(close)
      case .failed(let error): error
      case .open, .closing: .closed(nil)
      }
    return .waiting(for: wait, because: cause, attempt: 1)
  }

  private mutating func ended(_ last: WebSocketState) throws(WebSocketError) -> WebSocketClient.Event? {
    let openFor = time.now() - openedAt
    if openFor >= rules.stableAfter { state = .empty }
    switch last {
    case .closed(let close):
      if close.initiator == .local || close.code == .normal { return nil }
      return try waiting(.closed(close), openFor: openFor)
    case .failed(let error):
      if case .dropped = error.reason { return nil }
      return try waiting(error, openFor: openFor)
    case .open, .closing: return nil
    }
  }

  private mutating func waiting(
    _ error: WebSocketError, openFor: Duration
  ) throws(WebSocketError) -> WebSocketClient.Event {
    // A denied address is permanent; a stack does not retry it either (`RetryVeto`).
    if error.code == .egressDenied { throw error }
    let wait: Retry.Delay
    switch rules.policy.shouldRetry(with: error, state: state, metadata: openFor) {
    case .none, .noRetry: throw error
    case .retry: wait = .zero
    case .retryAfter(let delay): wait = max(delay, .zero).countable
    }
    // Bound the number of kept errors, because retries may be unlimited. A policy uses their count and the latest ones.
    if state.errors.count >= Self.keptErrors {
      state.errors.removeFirst()
      state.forgotten += 1
    }
    state.errors.append(error)
    state.totalDelay += wait
    delay = wait
    return .waiting(for: wait, because: error, attempt: state.retryCount)
  }
}
