// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// A monitor that determines whether the network still reaches the peers of connections. It drives
/// ``Connection/viabilityUpdateHandler``.
package protocol NetworkPathMonitor: Sendable {
  /// Watches the path to the server of an open connection.
  ///
  /// - Parameters:
  ///   - facts: the facts of the connection; without an address there is nothing to watch.
  ///   - handler: called on any thread with every change: `false` when the path is lost, `true` when it is restored.
  ///     The path initially counts as available.
  /// - Returns: a token that ends the watch when it is cancelled or released; `nil` if there is nothing to watch.
  func watch(_ facts: StreamFacts, _ handler: @escaping @Sendable (Bool) -> Void) -> (any Cancelable)?
}
