// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// The limits of a session. Times are nanoseconds.
package struct HTTP2Configuration: Sendable {
  /// Most requests at a time, however many the server allows. Default 100.
  package var streams = 100
  /// Most requests at a time before the server's SETTINGS tell how many it allows: more than that it may refuse.
  /// Default 100.
  package var streamsBeforeSettings = 100
  /// The bytes of one response that a server may send before the reader takes them. Default 1 MiB; grows to
  /// ``maximumStreamWindow``.
  package var streamWindow = 1 << 20
  package var maximumStreamWindow = 16 << 20
  /// The bytes that a server may send on the connection before they are acknowledged. Default 16 MiB.
  package var connectionWindow = 16 << 20
  /// The bytes that all responses together may keep unread. Default 64 MiB.
  ///
  /// Windows are planned for it (``WindowPlan``). A server that does not take smaller ones could send by the larger
  /// ones on every stream: beyond ``mostUnreadBytes`` the connection fails.
  package var unreadBytes = 64 << 20
  /// Bytes of a request's body that are kept while the server has no room for them. Default 64 KiB.
  package var outboxBytes = 64 << 10
  /// The silence after which the server is asked whether it is alive, and the time it has to answer.
  package var liveness = HTTP2Liveness.Limits()
  /// Heads, interim answers and trailers as for HTTP/1.1; the bytes of heads are counted as RFC 9113 §6.5.2 has it.
  package var limits = ExchangeLimits()

  package init() {}

  /// A limit that no server within its windows reaches: 150 MiB by default.
  ///
  /// When windows are made smaller, a quarter of ``unreadBytes`` may be unread and a connection's window under way. The
  /// new windows of all streams are no more than ``unreadBytes`` together, or ``WindowPlan/minimum`` for each. This is
  /// three quarters of ``unreadBytes`` more, for servers that have frames waiting to be sent when they learn of it.
  package var mostUnreadBytes: Int {
    // A caller may allow any number of streams; their numbers end there (RFC 9113 §5.1.1).
    2 * unreadBytes + connectionWindow + min(streams, Int(Int32.max)) * WindowPlan.minimum
  }
}
