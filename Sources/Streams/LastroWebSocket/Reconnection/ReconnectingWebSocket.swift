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

  private let client: WebSocketClient
  private let resource: RawHTTPResource
  private let reconnection: WebSocketReconnection

  /// Creates a reconnecting WebSocket; nothing is connected yet.
  ///
  /// - Parameters:
  ///   - client: the client that connects.
  ///   - url: the URL, as for ``WebSocketClient/connect(_:headers:)``.
  ///   - headers: additional header fields of every handshake. Default: none.
  ///   - reconnection: the rules for reconnecting. Default ``WebSocketReconnection/standard``.
  public init(
    _ client: WebSocketClient, to url: String, headers: RawHeaders = [:],
    reconnection: WebSocketReconnection = .standard
  ) {
    self.init(
      client, to: RawHTTPResource(baseRequestMaking: .init { try WebSocketURL.request(url, headers: headers) }),
      reconnection: reconnection)
  }

  /// Creates a reconnecting WebSocket with the request of a resource, which is made again for every handshake. Default
  /// `reconnection`: ``WebSocketReconnection/standard``.
  public init<Model, APIError>(
    _ client: WebSocketClient, to resource: HTTPResource<Model, APIError>,
    reconnection: WebSocketReconnection = .standard
  ) {
    self.client = client
    self.resource = resource.raw
    self.reconnection = reconnection
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
    _ error: WebSocketError, _ loss: WebSocketReconnection.Loss
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
