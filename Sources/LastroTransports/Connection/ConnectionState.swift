// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Where a ``Connection`` stands; Network framework's `NWConnection.State`.
///
/// The order: ``setup``, ``preparing``, then ``ready`` or ``failed(_:)``, and ``cancelled`` at the end of all when it
/// was asked for. A connection that is ready may fail later. Nothing but ``cancelled`` follows a failure: for another
/// try, make another connection.
public enum ConnectionState: Sendable, Hashable {
  /// Made, not started. No handler is called for it.
  case setup
  /// Waits for the network to change. Connections of Lastro never do: what cannot be reached fails, and the application
  /// decides. Those of Network framework do.
  case waiting(ConnectionError)
  /// Name resolution, connecting, proxies, TLS, and the handshakes of the framers.
  case preparing
  /// Data can flow.
  case ready
  /// Lost, or never made. What had been received can still be received.
  case failed(ConnectionError)
  /// Cancelled, and everything under it is released.
  case cancelled
}
