// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The state of a ``Connection``; it corresponds to `NWConnection.State` of Network framework.
///
/// The order is ``setup``, ``preparing``, then ``ready`` or ``failed(_:)``, and finally ``cancelled`` if the connection
/// was cancelled. A ready connection may fail later. Only ``cancelled`` can follow a failure: make another connection
/// to try again.
public enum ConnectionState: Sendable, Hashable {
  /// Created, but not started. No handler is called for this state.
  case setup
  /// Waiting for the network to change. Connections of Lastro never enter this state: if a peer is unreachable they
  /// fail, and the application decides what to do. Connections of Network framework do enter it.
  case waiting(ConnectionError)
  /// Resolving names, connecting, passing proxies, or in the handshakes of TLS and framers.
  case preparing
  /// Data can flow.
  case ready
  /// The connection was lost or could not be established. Content that arrived earlier can still be received.
  case failed(ConnectionError)
  /// The connection was cancelled, and all its resources are released.
  case cancelled
}
