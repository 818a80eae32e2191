// SPDX-License-Identifier: Apache-2.0

/// The limits of a server that programs other than tests may reach. Such a server records no requests and errors.
package struct LoopbackBounds: Sendable {
  /// The maximum number of open connections. Others are closed at once.
  package var connections = 64
  /// The maximum number of bytes of a request's head.
  package var headBytes = 64 << 10
  /// The maximum number of bytes of a request's body. A larger one gets 413.
  package var bodyBytes = 16 << 20
  /// The time limit for a head, including the wait for it, and for each wait for bytes of a body, or for the
  /// client to read.
  package var idle = Duration.seconds(60)

  /// The limit ``idle`` for the system.
  var idleMilliseconds: Int32 { Int32(clamping: Int64(idle / .milliseconds(1))) }

  /// Creates the default limits.
  package init() {}
}
