// SPDX-License-Identifier: Apache-2.0

/// The result of a hedge.
package enum HedgeEnd: String, Sendable, Hashable, CaseIterable {
  /// The hedge's response became that of the attempt.
  case won
  /// Another try won, and the hedge was cancelled.
  case lost
  /// The hedge failed or was refused, or the caller cancelled the attempt.
  case useless
}

/// The reason for not sending a hedge that was due.
package enum HedgeVeto: String, Sendable, Hashable, CaseIterable {
  /// The budget of ``HedgingPolicy/budgetRatio`` and ``HedgingPolicy/budgetBurst`` was exhausted.
  case budget
  /// Less than half of the retry quota was left.
  case retryQuota = "retry-quota"
  /// The circuit was not closed.
  case circuit
  /// The limiter already had as many attempts in flight as it admits.
  case room
  /// The server had asked not to be called, by `Retry-After`.
  case pace
}
