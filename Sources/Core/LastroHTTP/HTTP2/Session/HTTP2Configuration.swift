// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// The limits of a session. Times are nanoseconds.
package struct HTTP2Configuration: Sendable {
  /// The maximum number of concurrent requests, even if the server allows more. Default 100.
  package var streams = 100
  /// The maximum number of concurrent requests before the server's SETTINGS state its limit. The server may refuse
  /// requests above its limit. Default 100.
  package var streamsBeforeSettings = 100
  /// The bytes of one response that a server may send before the reader takes them. Default 1 MiB; grows to
  /// ``maximumStreamWindow``.
  package var streamWindow = 1 << 20
  package var maximumStreamWindow = 16 << 20
  /// The bytes that a server may send on the connection before they are acknowledged. Default 16 MiB.
  package var connectionWindow = 16 << 20
  /// The bytes that all responses together may keep unread. Default 64 MiB.
  ///
  /// Windows are planned so that this limit holds (``WindowPlan``). When windows are reduced, a server may ignore the
  /// reduction and fill the earlier, larger windows. The connection fails beyond ``mostUnreadBytes``.
  package var unreadBytes = 64 << 20
  /// The bytes of a request's body that are buffered while the server's window is full. Default 64 KiB.
  package var outboxBytes = 64 << 10
  /// The silence after which the server is checked with a PING, and the time that it has to answer.
  package var liveness = HTTP2Liveness.Limits()
  /// The limits of heads, interim responses and trailers, as for HTTP/1.1. The size of a head is calculated as in RFC
  /// 9113 §6.5.2.
  package var limits = ExchangeLimits()

  /// The number of unread bytes beyond which the connection fails. A server that respects its windows never reaches it.
  /// Default 150 MiB.
  ///
  /// When windows are reduced, a quarter of ``unreadBytes`` may be unread and one connection window in flight. The new
  /// windows of all streams add up to at most ``unreadBytes``, or ``WindowPlan/minimum`` for each stream. This limit is
  /// three quarters of ``unreadBytes`` above that sum, for servers that have already queued frames when they learn of
  /// the reduction.
  package var mostUnreadBytes: Int {
    // A caller may allow any number of streams, but stream numbers are limited (RFC 9113 §5.1.1).
    2 * unreadBytes + connectionWindow + min(streams, Int(Int32.max)) * WindowPlan.minimum
  }
}
