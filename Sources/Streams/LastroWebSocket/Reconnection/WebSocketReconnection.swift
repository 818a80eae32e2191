// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// The rules by which a ``ReconnectingWebSocket`` reconnects.
public struct WebSocketReconnection: Sendable {
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

  /// The policy that decides whether to reconnect, and after which delay. Default: a random delay of up to 0.5 s, which
  /// doubles up to 30 s (full jitter), for 20 consecutive losses. If an egress policy denies the server's address,
  /// reconnecting ends without consulting the policy. The state contains the latest 1,000 errors, and counts all of
  /// them.
  public var policy: Retry.Policy<Loss>
  /// The time after which an open socket counts as stable, so that the policy starts over. Default 30 s.
  public var stableAfter: Duration
  /// A closure that is called with every socket but the first, before it is returned, for example to subscribe again or
  /// to request missed messages. If it throws, the socket is cut, which counts as a loss. Default: does nothing.
  public var onReopen: @Sendable (WebSocket) async throws -> Void

  /// Creates rules for reconnecting; the defaults are those of ``standard``.
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

  /// The default rules: full jitter up to half a second, doubling to 30 s; 20 consecutive retries.
  public static let standard = WebSocketReconnection()
}
