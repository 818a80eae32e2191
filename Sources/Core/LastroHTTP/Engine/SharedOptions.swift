// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Options that many jobs share, because they are large, and a job lives as long as its request waits.
package final class SharedOptions: Sendable {
  package let options: ConnectionOptions
  /// Whether the options were given, and are not the defaults of the dialer.
  let areGiven: Bool

  /// Creates the options.
  ///
  /// - Parameter options: the options; `nil` for the dialer's own.
  package init(_ options: ConnectionOptions?) {
    self.options = options ?? ConnectionOptions()
    areGiven = options != nil
  }
}
