// SPDX-License-Identifier: Apache-2.0

/// Changes of a call that is replayed, to see what would have happened.
package struct ReplayVariation: Sendable, Equatable {
  /// The timeouts that replace those of the call. Default none.
  package var connect: Duration?
  package var attempt: Duration?
  package var idle: Duration?
  package var total: Duration?
  /// Whether no failure is retried. Default false.
  package var retriesNothing = false
  /// The maximum number of attempts. Default `nil`: that of the call.
  package var maximumAttempts: Int?
  /// The codes of refusals by a layer that is left out. Default none.
  package var without: Set<FailureCode> = []
  /// Whether the answers of a cache are left out. Default false.
  package var withoutCache = false

  package init() {}

  /// Whether nothing is changed, so that the ledger is that of the call.
  package var isEmpty: Bool { self == Self() }

  func apply(to timeouts: inout Timeouts) {
    timeouts.connect = connect ?? timeouts.connect
    timeouts.attempt = attempt ?? timeouts.attempt
    timeouts.idle = idle ?? timeouts.idle
    timeouts.total = total ?? timeouts.total
  }
}
