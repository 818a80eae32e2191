// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The rules by which a ``ReconnectingWebSocket`` reconnects; see its initializers.
struct WebSocketReconnection: Sendable {
  var policy: Retry.Policy<ReconnectingWebSocket.Loss>
  var stableAfter: Duration
  var onReopen: @Sendable (WebSocket) async throws -> Void

  /// The default policy.
  static let standardPolicy = Retry.Policy<ReconnectingWebSocket.Loss>.backoff(
    .exponential(
      baseDelay: .milliseconds(500), scale: Retry.Backoff.fullJitter(cap: .seconds(30)), until: .maxRetries(20)))
}
