// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// Options that many jobs have in common: they are large, and a job lives as long as its request waits.
package final class SharedOptions: Sendable {
  package let options: ConnectionOptions
  /// Whether they were given, and are not the defaults of what dials.
  let areGiven: Bool

  package init(_ options: ConnectionOptions) {
    self.options = options
    areGiven = true
  }

  /// - Parameter options: `nil`: as the dialer has it.
  package init(given options: ConnectionOptions?) {
    self.options = options ?? ConnectionOptions()
    areGiven = options != nil
  }
}
