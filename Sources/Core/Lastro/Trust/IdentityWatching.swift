// SPDX-License-Identifier: Apache-2.0

/// A stack or a transport that knows whether the client certificate of its connections has changed.
package protocol IdentityWatching: Sendable {
  /// Returns numbers that change when the client certificate for the options does; none if it cannot change. Files are
  /// checked at most once a second. A check that blocks delays one caller by one second.
  ///
  /// - Parameter options: the options of a request; `nil` for those of the stack or transport.
  func identityRevisions(for options: ConnectionOptions?) -> [UInt64]
}

extension TransportNetworkStack: IdentityWatching {
  package func identityRevisions(for options: ConnectionOptions?) -> [UInt64] {
    (transport as? any IdentityWatching)?.identityRevisions(for: options) ?? []
  }
}
