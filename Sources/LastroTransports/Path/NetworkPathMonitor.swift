// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// Watches whether the network still leads where connections go. What
/// ``Connection/viabilityUpdateHandler`` tells comes from here.
public protocol NetworkPathMonitor: Sendable {
  /// Watches the way to the server of an open connection.
  ///
  /// - Parameters:
  ///   - facts: those of the connection; without an address in them there is nothing to watch.
  ///   - handler: called with every change: `false` when the way is gone, `true` when it is back. The way counts as
  ///     open at first. Any thread.
  /// - Returns: what ends the watch when it is cancelled or let go; `nil` where there is nothing to watch.
  func watch(_ facts: StreamFacts, _ handler: @escaping @Sendable (Bool) -> Void) -> (any Cancelable)?
}
