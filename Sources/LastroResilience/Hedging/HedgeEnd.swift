// SPDX-License-Identifier: Apache-2.0

/// What became of a hedge. Other cases may come: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum HedgeEnd: String, Sendable, Hashable, CaseIterable {
  /// Its answer is the attempt's.
  case won
  /// Another try was first; it was cancelled.
  case lost
  /// It failed, or was refused, or the caller gave all up.
  case useless
}

/// Why a hedge was not sent when it was time for it. Other cases may come: a `switch` needs an `@unknown default`.
@nonexhaustive
public enum HedgeVeto: String, Sendable, Hashable, CaseIterable {
  /// ``HedgingPolicy/budgetRatio`` and ``HedgingPolicy/budgetBurst`` had nothing left.
  case budget
  /// Less than half of the retry quota was left.
  case retryQuota = "retry-quota"
  /// The circuit was not closed.
  case circuit
  /// As many attempts were under way as the limiter lets be.
  case room
  /// The server had asked, by `Retry-After`, to be left alone.
  case pace
}
