// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension WebSocketClient {
  /// A socket, or the wait before the next one; see
  /// ``WebSocketClient/reconnecting(to:headers:policy:stableAfter:onReopen:)``.
  public enum Event: Sendable {
    /// A socket is open; the next event comes when it has ended.
    case opened(WebSocket)
    /// The next attempt is delayed. The error ended the socket, or prevented it from being opened; its reason has the
    /// result of a closing. The number of the attempt is 1 for the first since the latest stable socket.
    case waiting(for: Duration, because: WebSocketError, attempt: Int)
  }

  /// Returns one socket after another, and the waits between them, according to a policy.
  ///
  /// Each iterator connects separately, when its first event is requested. The sequence ends when a socket was closed
  /// by this side, or by the server with code 1000. It throws the last error when the policy gives up, and `cancelled`
  /// in a cancelled task. The application must handle messages lost or sent around a wait: nothing is resent
  /// automatically.
  ///
  /// ```swift
  /// for try await event in client.reconnecting(to: "wss://example.org/feed") {
  ///   switch event {
  ///   case .opened(let socket): for try await message in socket.messages { … }
  ///   case .waiting(let delay, let error, _): print("lost: \(error), again in \(delay)")
  ///   }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - url: the URL, as for ``WebSocketClient/connect(_:headers:)``.
  ///   - headers: additional header fields of every handshake. Default: none.
  ///   - policy: decides whether to reconnect, and after which delay. Its metadata is the time for which the socket was
  ///     open, zero if connecting failed. Its state contains the latest 1,000 errors, and counts all of them. It is not
  ///     consulted if an egress policy denies the server's address: reconnecting then ends. Default `nil`: a random
  ///     delay of up to 0.5 s, which doubles up to 30 s (full jitter), for 20 consecutive losses.
  ///   - stableAfter: the time after which an open socket counts as stable, so that the policy starts over. Default
  ///     30 s.
  ///   - onReopen: called with every socket but the first, before it is returned, for example to subscribe again or to
  ///     request missed messages. If it throws, the socket is cut, which counts as a loss. Default: does nothing.
  public func reconnecting(
    to url: String, headers: RawHeaders = [:], policy: Retry.Policy<Duration>? = nil,
    stableAfter: Duration = .seconds(30), onReopen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) -> some AsyncSequence<Event, WebSocketError> & Sendable {
    reconnecting(
      to: RawHTTPResource(baseRequestMaking: .init { try WebSocketURL.request(url, headers: headers) }),
      policy: policy, stableAfter: stableAfter, onReopen: onReopen)
  }

  /// Returns one socket after another with the request of a resource, which is made again for every handshake; see
  /// ``WebSocketClient/reconnecting(to:headers:policy:stableAfter:onReopen:)``.
  ///
  /// - Parameters:
  ///   - resource: makes the request of each handshake.
  ///   - policy: decides whether to reconnect. Default `nil`: as for a URL.
  ///   - stableAfter: the time after which the policy starts over. Default 30 s.
  ///   - onReopen: called with every socket but the first. Default: does nothing.
  public func reconnecting<Model, APIError>(
    to resource: HTTPResource<Model, APIError>, policy: Retry.Policy<Duration>? = nil,
    stableAfter: Duration = .seconds(30), onReopen: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) -> some AsyncSequence<Event, WebSocketError> & Sendable {
    ReconnectingWebSocket(
      client: self, resource: resource.raw, policy: policy ?? ReconnectingWebSocket.standardPolicy,
      stableAfter: stableAfter, onReopen: onReopen)
  }
}
