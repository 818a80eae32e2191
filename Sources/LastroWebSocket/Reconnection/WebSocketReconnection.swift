// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// When a ``ReconnectingWebSocket`` connects anew, and what is done then.
public struct WebSocketReconnection: Sendable {
  /// What a policy is told besides the error.
  public struct Loss: Sendable {
    /// Whether there was an open socket; false when connecting failed.
    public var wasOpen: Bool
    /// How long it was open.
    public var openFor: Duration
    /// How it was closed, where it was.
    public var close: WebSocketClose?

    /// Makes a loss, for tests of policies.
    public init(wasOpen: Bool, openFor: Duration, close: WebSocketClose?) {
      self.wasOpen = wasOpen
      self.openFor = openFor
      self.close = close
    }
  }

  /// Whether, and after which delay, to connect anew. Default: a random delay of up to 0.5 s, which doubles to 30 s
  /// (full jitter), for 20 losses in a row. Not asked where an egress policy denies the server's address: that ends it.
  /// The state has the latest 1,000 errors, and counts all.
  public var policy: Retry.Policy<Loss>
  /// A socket that was open for so long counts as stable: the policy begins anew after it. Default 30 s.
  public var stableAfter: Duration
  /// Called with every socket but the first, before it is handed out: to subscribe again, or to ask for what was
  /// missed. When it throws, the socket is cut, and that counts as a loss. Default: nothing.
  public var onReopen: @Sendable (WebSocket) async throws -> Void

  /// Makes rules of reconnecting; the defaults are those of ``standard``.
  public init(
    policy: Retry.Policy<Loss> = .backoff(
      .exponential(
        baseDelay: .milliseconds(500), scale: Retry.Backoff.fullJitter(cap: .seconds(30)), until: .maxRetries(20))),
    stableAfter: Duration = .seconds(30), onReopen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) {
    self.policy = policy
    self.stableAfter = stableAfter
    self.onReopen = onReopen
  }

  /// Full jitter up to half a second, doubling to 30 s; 20 retries in a row.
  public static let standard = WebSocketReconnection()
}

/// Keeps a WebSocket open by connecting anew, by a policy: a client in front of ``WebSocketClient``.
///
/// It hands out one socket after another, and tells each gap between them. What was sent or received around a gap is
/// the application's business: nothing is ever sent again by itself.
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
    /// There is no attempt for a while.
    case gap(Gap)
  }

  /// A time without a socket.
  public struct Gap: Sendable {
    /// Why the socket was lost, or could not be opened.
    public var error: WebSocketError
    /// How the socket was closed, where it was.
    public var close: WebSocketClose?
    /// The wait before the next attempt.
    public var delay: Duration
    /// Number of the attempt that follows, 1 for the first since the latest stable socket.
    public var attempt: Int
  }

  private let client: WebSocketClient
  private let resource: RawHTTPResource
  private let reconnection: WebSocketReconnection

  /// Makes one; nothing is connected yet.
  ///
  /// - Parameters:
  ///   - client: connects.
  ///   - url: as for ``WebSocketClient/connect(_:headers:)``.
  ///   - headers: more header fields of every handshake. Default none.
  ///   - reconnection: default ``WebSocketReconnection/standard``.
  public init(
    _ client: WebSocketClient, to url: String, headers: RawHeaders = [:],
    reconnection: WebSocketReconnection = .standard
  ) {
    self.init(
      client, to: RawHTTPResource(baseRequestMaking: .init { try WebSocketURL.request(url, headers: headers) }),
      reconnection: reconnection)
  }

  /// Makes one with the request of a resource, made anew for every handshake. Default `reconnection`:
  /// ``WebSocketReconnection/standard``.
  public init<Model, APIError>(
    _ client: WebSocketClient, to resource: HTTPResource<Model, APIError>,
    reconnection: WebSocketReconnection = .standard
  ) {
    self.client = client
    self.resource = resource.raw
    self.reconnection = reconnection
  }

  /// Sockets and the gaps between them. Each iterator connects for itself.
  public var events: Events { Events(client: client, resource: resource, reconnection: reconnection) }

  /// See ``ReconnectingWebSocket/events``. It ends when a socket was closed by us, or by the server with code 1000; it
  /// throws why the policy gave up, which is the last loss.
  public struct Events: AsyncSequence, Sendable {
    /// A socket, or the gap before the next one.
    public typealias Element = Event
    /// Why there is no other attempt.
    public typealias Failure = WebSocketError

    fileprivate let client: WebSocketClient
    fileprivate let resource: RawHTTPResource
    fileprivate let reconnection: WebSocketReconnection

    /// Begins with the first attempt to connect, at the first call of `next()`.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(client: client, resource: resource, reconnection: reconnection)
    }
  }

  /// Connects, waits for the end of each socket, and asks the policy; for one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
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

  /// The next event; `nil` at the proper end. A cancelled wait throws `cancelled`, and goes on where it was.
  ///
  /// - Throws: ``WebSocketError``: the last loss, when the policy gives up; `cancelled`.
  public mutating func next() async throws(WebSocketError) -> ReconnectingWebSocket.Event? {
    try await next(isolation: nil)
  }

  /// The next event; `nil` at the proper end.
  ///
  /// - Throws: ``WebSocketError``: the last loss, when the policy gives up; `cancelled`.
  public mutating func next(
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
    // Nor does a stack retry it (`RetryVeto`): it does not pass by itself.
    if error.code == .egressDenied { throw error }
    let wait: Retry.Delay
    switch reconnection.policy.shouldRetry(with: error, state: state, metadata: loss) {
    case .none, .noRetry: throw error
    case .retry: wait = .zero
    case .retryAfter(let delay): wait = max(delay, .zero).countable
    }
    // Without a limit of retries they would fill the memory. A policy looks at their number, and at the latest.
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
