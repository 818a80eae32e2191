// SPDX-License-Identifier: Apache-2.0

import Lastro

/// An algorithm that determines how many attempts may be in flight at once.
package enum ConcurrencyAlgorithm: Sendable, Hashable {
  /// A fixed limit, from 1 to 1,000,000.
  case fixed(Int)
  /// Additive increase, multiplicative decrease. While at least half of the limit is in use, it grows by one with each
  /// response until the first drop, and by one per round trip from then on. A dropped attempt (429, 503, 504, a
  /// timeout, a connection refused) multiplies the limit by `backoff`. Attempts that began before the last decrease do
  /// not decrease it again, because attempts that are dropped together count as one signal. It suits mixed calls: it
  /// ignores latency up to 5 s.
  case aimd(initial: Int = 20, range: ClosedRange<Int> = 1...200, backoff: Double = 0.9)
  /// Compares the current latency with that of the last 600 windows (Netflix's Gradient2). It suits calls of one kind:
  /// give the limiter a key per operation. It ignores drops.
  case gradient(initial: Int = 20, range: ClosedRange<Int> = 20...200)

  private static let most = 1_000_000

  /// - Throws: `ConfigurationError` that names the invalid value.
  func check() throws(ConfigurationError) {
    switch self {
    case .fixed(let limit): try ConfigurationError.check("limit", limit, atLeast: 1, atMost: Self.most)
    case .aimd(let initial, let range, let backoff):
      try Self.check(initial, range)
      guard backoff > 0, backoff < 1 else {
        throw ConfigurationError(
          "backoff is \(backoff), which does not reduce a limit", hint: "give more than 0 and less than 1")
      }
    case .gradient(let initial, let range): try Self.check(initial, range)
    }
  }

  private static func check(_ initial: Int, _ range: ClosedRange<Int>) throws(ConfigurationError) {
    try ConfigurationError.check("range", range.lowerBound, atLeast: 1)
    try ConfigurationError.check("range", range.upperBound, atLeast: 1, atMost: most)
    guard range.contains(initial) else {
      throw ConfigurationError(
        "initial is \(initial), outside of \(range.lowerBound)…\(range.upperBound)",
        hint: "give a limit within the range")
    }
  }
}
