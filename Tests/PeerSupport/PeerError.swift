// SPDX-License-Identifier: Apache-2.0

/// Why a peer could not be used, with what it printed.
package struct PeerError: Error, CustomStringConvertible {
  /// What happened.
  package let description: String

  init(_ description: String) { self.description = description }
}
