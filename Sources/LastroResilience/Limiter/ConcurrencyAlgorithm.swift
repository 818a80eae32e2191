// SPDX-License-Identifier: Apache-2.0

import Lastro

/// How many attempts may be under way at once.
public enum ConcurrencyAlgorithm: Sendable, Hashable {
  /// So many, always: 1 to 1,000,000.
  case fixed(Int)
  /// While more than half are used: one more with each answer until the first drop, and one more for each round trip
  /// from
  /// then on. `backoff` times as many when an attempt is dropped (429, 503, 504, a timeout, a connection refused);
  /// attempts
  /// that began before the last cut cut no more, for those that are dropped together are one sign. For calls of all
  /// kinds:
  /// latency means nothing to it, up to 5 s.
  case aimd(initial: Int = 20, range: ClosedRange<Int> = 1...200, backoff: Double = 0.9)
  /// By how the latency of now compares with that of the last 600 windows (Netflix's Gradient2). For calls of one kind:
  /// give the limiter a key for each operation. Drops mean nothing to it.
  case gradient(initial: Int = 20, range: ClosedRange<Int> = 20...200)

  private static let most = 1_000_000

  /// - Throws: `ConfigurationError`, with the value that cannot work.
  func check() throws(ConfigurationError) {
    switch self {
    case .fixed(let limit): try ConfigurationError.check("fixed", limit, atLeast: 1, atMost: Self.most)
    case .aimd(let initial, let range, let backoff):
      try Self.check(initial, range)
      guard backoff > 0, backoff < 1 else {
        throw ConfigurationError(
          "backoff is \(backoff), outside of what makes a limit smaller", hint: "give more than 0 and less than 1")
      }
    case .gradient(let initial, let range): try Self.check(initial, range)
    }
  }

  private static func check(_ initial: Int, _ range: ClosedRange<Int>) throws(ConfigurationError) {
    try ConfigurationError.check("range", range.lowerBound, atLeast: 1)
    try ConfigurationError.check("range", range.upperBound, atLeast: 1, atMost: most)
    guard range.contains(initial) else {
      throw ConfigurationError(
        "initial is \(initial), outside of \(range.lowerBound)…\(range.upperBound)", hint: "give a limit of the range")
    }
  }
}
