// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The options for polling an operation, which the parameters of `begin` and `wait` describe.
package struct OperationOptions: Sendable {
  package var total: Duration?
  package var origins: Set<Origin> = []
  /// The clock for waits.
  package var timeSource: TimeSource = .continuous
  /// The source of the ±10 % jitter of waits that the server did not ask for.
  package var randomSource: RandomSource = .system

  package init() {}
}
