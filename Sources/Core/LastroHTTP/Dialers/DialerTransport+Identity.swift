// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension DialerTransport: IdentityWatching {
  /// Returns the revisions of the client certificates of all layers that use TLS.
  package func identityRevisions(for options: ConnectionOptions?) -> [UInt64] {
    fileLayers.flatMap { $0.identityRevisions(for: options ?? configuration.connection) }
  }
}
