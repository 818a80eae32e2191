// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The limits of a sequence of pages, which the parameters of `pages` describe.
package struct PageOptions: Sendable {
  package var maximumPages = 1000
  package var total: Duration?
  package var origins: Set<Origin> = []
  package var fetchesAhead = false
  /// The clock for ``total``.
  package var timeSource: TimeSource = .continuous

  package init() {}
}
