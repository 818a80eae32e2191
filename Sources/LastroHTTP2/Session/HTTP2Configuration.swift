// SPDX-License-Identifier: Apache-2.0

package import LastroWire

/// What a session holds to. Times are nanoseconds.
package struct HTTP2Configuration: Sendable {
  /// Most requests at a time, however many the server allows. Default 100.
  package var streams = 100
  /// Most requests at a time before the server's SETTINGS tell how many it allows: more than that it may refuse.
  /// Default 100.
  package var streamsBeforeSettings = 100
  /// What a server may send of one answer before the reader takes it, at first. Default 1 MiB; grows to
  /// ``maximumStreamWindow``.
  package var streamWindow = 1 << 20
  package var maximumStreamWindow = 16 << 20
  /// What a server may send before it knows that it was received. Default 16 MiB.
  package var connectionWindow = 16 << 20
  /// What all answers together may keep unread. Default 64 MiB.
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

  /// What no server that keeps to its windows reaches: 150 MiB by default.
  ///
  /// When windows are made smaller, a quarter of ``unreadBytes`` may be unread and a connection's window under way. The
  /// new windows of all streams are no more than ``unreadBytes`` together, or ``WindowPlan/minimum`` for each. This is
  /// three quarters of ``unreadBytes`` more, for servers that have frames waiting to be sent when they learn of it.
  package var mostUnreadBytes: Int {
    // A caller may allow any number of streams; their numbers end there (RFC 9113 §5.1.1).
    2 * unreadBytes + connectionWindow + min(streams, Int(Int32.max)) * WindowPlan.minimum
  }
}
