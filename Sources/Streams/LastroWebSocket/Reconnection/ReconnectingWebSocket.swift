// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// A WebSocket that reconnects according to a policy; a client in front of ``WebSocketClient``.
///
/// It returns one socket after another, and reports each gap between them. The application must handle messages lost or
/// sent around a gap: nothing is resent automatically.
///
/// ```swift
/// for try await event in ReconnectingWebSocket(client, to: "wss://example.org/feed").events {
///   switch event {
///   case .opened(let socket): for try await message in socket.messages { … }
///   case .gap(let gap): print("lost: \(gap.error), again in \(gap.delay)")
///   }
/// }
/// ```
public struct ReconnectingWebSocket: Sendable {
  /// A socket, or the gap before the next one.
  public enum Event: Sendable {
    /// A socket is open; the next event comes when it has ended.
    case opened(WebSocket)
    /// The next attempt is delayed.
    case gap(Gap)
  }

  /// A period without a socket.
  public struct Gap: Sendable {
    /// The error that ended the socket, or prevented it from being opened.
    public var error: WebSocketError
    /// The result of the closing; `nil` if the socket was not closed by a Close frame.
    public var close: WebSocketClose?
    /// The wait before the next attempt.
    public var delay: Duration
    /// The number of the next attempt; 1 for the first since the latest stable socket.
    public var attempt: Int
  }

  /// Information about a loss, which a policy gets besides the error.
  public struct Loss: Sendable {
    /// Whether there was an open socket; false if connecting failed.
    public var wasOpen: Bool
    /// The time for which the socket was open.
    public var openFor: Duration
    /// The result of the closing; `nil` if the socket was not closed by a Close frame.
    public var close: WebSocketClose?

    /// Creates a loss, for tests of policies.
    package init(wasOpen: Bool, openFor: Duration, close: WebSocketClose?) {
      self.wasOpen = wasOpen
      self.openFor = openFor
      self.close = close
    }
  }

  private let client: WebSocketClient
  private let resource: RawHTTPResource
  private let reconnection: WebSocketReconnection

  /// Creates a reconnecting WebSocket; nothing is connected yet.
  ///
  /// - Parameters:
  ///   - client: the client that connects.
  ///   - url: the URL, as for ``WebSocketClient/connect(_:headers:)``.
  ///   - headers: additional header fields of every handshake. Default: none.
  ///   - policy: decides whether to reconnect, and after which delay. Its state contains the latest 1,000 errors, and
  ///     counts all of them. It is not consulted if an egress policy denies the server's address: reconnecting then
  ///     ends. Default `nil`: a random delay of up to 0.5 s, which doubles up to 30 s (full jitter), for 20 consecutive
  ///     losses.
  ///   - stableAfter: the time after which an open socket counts as stable, so that the policy starts over. Default
  ///     30 s.
  ///   - onReopen: called with every socket but the first, before it is returned, for example to subscribe again or to
  ///     request missed messages. If it throws, the socket is cut, which counts as a loss. Default: does nothing.
  public init(
    _ client: WebSocketClient, to url: String, headers: RawHeaders = [:], policy: Retry.Policy<Loss>? = nil,
    stableAfter: Duration = .seconds(30), onReopen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) {
    self.init(
      client, to: RawHTTPResource(baseRequestMaking: .init { try WebSocketURL.request(url, headers: headers) }),
      policy: policy, stableAfter: stableAfter, onReopen: onReopen)
  }

  /// Creates a reconnecting WebSocket with the request of a resource, which is made again for every handshake.
  ///
  /// - Parameters:
  ///   - client: the client that connects.
  ///   - resource: makes the request of each handshake.
  ///   - policy: decides whether to reconnect. Default `nil`: as for a URL.
  ///   - stableAfter: the time after which the policy starts over. Default 30 s.
  ///   - onReopen: called with every socket but the first. Default: does nothing.
  public init<Model, APIError>(
    _ client: WebSocketClient, to resource: HTTPResource<Model, APIError>, policy: Retry.Policy<Loss>? = nil,
    stableAfter: Duration = .seconds(30), onReopen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) {
    self.client = client
    self.resource = resource.raw
    reconnection = WebSocketReconnection(
      policy: policy ?? WebSocketReconnection.standardPolicy, stableAfter: stableAfter, onReopen: onReopen)
  }

  /// The sockets and the gaps between them. Each iterator connects separately, when its first event is requested.
  ///
  /// The sequence ends when a socket was closed by this side, or by the server with code 1000. It throws the last loss
  /// when the policy gives up, and `cancelled` in a cancelled task.
  public var events: some AsyncSequence<Event, WebSocketError> & Sendable {
    Events(client: client, resource: resource, reconnection: reconnection)
  }

  /// A sequence of sockets and gaps; see ``ReconnectingWebSocket/events``. It ends when a socket was closed by this
  /// side, or by the server with code 1000. It throws the last loss when the policy gives up.
  package struct Events: AsyncSequence, Sendable {
    /// A socket, or the gap before the next one.
    package typealias Element = Event
    /// The error that ended reconnecting.
    package typealias Failure = WebSocketError

    fileprivate let client: WebSocketClient
    fileprivate let resource: RawHTTPResource
    fileprivate let reconnection: WebSocketReconnection

    /// Creates an iterator that connects for the first time when `next()` is called.
    package func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(client: client, resource: resource, reconnection: reconnection)
    }
  }

  /// An iterator that connects, waits for the end of each socket, and consults the policy; it may be used by one task
  /// at a time.
  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let client: WebSocketClient
    fileprivate let resource: RawHTTPResource
    fileprivate let reconnection: WebSocketReconnection
    fileprivate var socket: WebSocket?
    fileprivate var openedAt = Duration.zero
    fileprivate var state = Retry.State.empty
    fileprivate var delay: Duration?
    fileprivate var hasOpened = false

    fileprivate init(client: WebSocketClient, resource: RawHTTPResource, reconnection: WebSocketReconnection) {
      self.client = client
      self.resource = resource
      self.reconnection = reconnection
    }
  }
}

extension ReconnectingWebSocket.AsyncIterator {
  private static var keptErrors: Int { 1000 }
  private var time: TimeSource { client.stack.timeSource }

  /// Returns the next event; `nil` when the socket was closed properly. A cancelled wait throws `cancelled`; the next
  /// call continues it.
  ///
  /// - Throws: ``WebSocketError``: the last loss when the policy gives up; `cancelled`.
  package mutating func next() async throws(WebSocketError) -> ReconnectingWebSocket.Event? {
    try await next(isolation: nil)
  }

  /// Returns the next event; `nil` when the socket was closed properly.
  ///
  /// - Throws: ``WebSocketError``: the last loss when the policy gives up; `cancelled`.
  package mutating func next(
    isolation actor: isolated (any Actor)?
  ) async throws(WebSocketError) -> ReconnectingWebSocket.Event? {
    if let socket {
      guard let last = await socket.core.shared.lastState() else { throw .cancelled }
      self.socket = nil
      return try ended(last)
    }
    if let delay {
      do { try await time.sleep(delay) } catch { throw .cancelled }
      self.delay = nil
    }
    do throws(WebSocketError) {
      return .opened(try await open())
    } catch {
      if error.isCancelled { throw error }
      return try gap(error, .init(wasOpen: false, openFor: .zero, close: nil))
    }
  }

  private mutating func open() async throws(WebSocketError) -> WebSocket {
    let socket = try await client.connect(to: resource)
    if hasOpened {
      do {
        try await reconnection.onReopen(socket)
      } catch {
        socket.cut()
        if Task.isCancelled { throw .cancelled }
        throw .refusedReopening(error)
      }
    }
    hasOpened = true
    self.socket = socket
    openedAt = time.now()
    return socket
  }

  private mutating func ended(_ last: WebSocketState) throws(WebSocketError) -> ReconnectingWebSocket.Event? {
    let openFor = time.now() - openedAt
    if openFor >= reconnection.stableAfter { state = .empty }
    switch last {
    case .closed(let close):
      if close.initiator == .local || close.code == .normal { return nil }
      return try gap(.closed(close), .init(wasOpen: true, openFor: openFor, close: close))
    case .failed(let error):
      if case .dropped = error.reason { return nil }
      return try gap(error, .init(wasOpen: true, openFor: openFor, close: nil))
    case .open, .closing: return nil
    }
  }

  private mutating func gap(
    _ error: WebSocketError, _ loss: ReconnectingWebSocket.Loss
  ) throws(WebSocketError) -> ReconnectingWebSocket.Event {
    // A denied address is permanent; a stack does not retry it either (`RetryVeto`).
    if error.code == .egressDenied { throw error }
    let wait: Retry.Delay
    switch reconnection.policy.shouldRetry(with: error, state: state, metadata: loss) {
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
    return .gap(
      ReconnectingWebSocket.Gap(error: error, close: loss.close, delay: wait, attempt: state.retryCount))
  }
}
