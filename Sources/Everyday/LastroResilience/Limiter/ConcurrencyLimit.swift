// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A limit that adapts to samples.
struct ConcurrencyLimit: Sendable {
  /// A sample taken at the end of an attempt.
  struct Sample: Sendable, Hashable {
    var duration: Duration
    /// The number of attempts in flight when this one began, including itself.
    var inUse: Int
    var isDropped: Bool
    var began: Duration
  }

  private static let slowest = Duration.seconds(5)
  /// The shortest duration that counts: a shorter attempt never left this machine.
  private static let fastest = Duration.microseconds(100)

  private(set) var algorithm: ConcurrencyAlgorithm
  private(set) var exact: Double
  /// The time of the last decrease; `nil` before the first.
  private var lastCut: Duration?
  private var gradient = GradientState()

  var value: Int { Int(exact) }

  init(_ algorithm: ConcurrencyAlgorithm) {
    self.algorithm = algorithm
    switch algorithm {
    case .fixed(let limit): exact = Double(limit)
    case .aimd(let initial, _, _), .gradient(let initial, _): exact = Double(initial)
    }
  }

  /// Follows another algorithm from now on. The limit stays if the algorithm allows it, and what was measured stays.
  mutating func adopt(_ algorithm: ConcurrencyAlgorithm) {
    self.algorithm = algorithm
    switch algorithm {
    case .fixed(let limit): exact = Double(limit)
    case .aimd(_, let range, _), .gradient(_, let range): clamp(range)
    }
  }

  mutating func learn(_ sample: Sample, now: Duration) {
    switch algorithm {
    case .fixed: break
    case .aimd(_, let range, let backoff):
      if sample.isDropped || sample.duration > Self.slowest {
        if let lastCut, sample.began < lastCut { return }
        lastCut = now
        exact = (exact * backoff).rounded(.down)
      } else if 2 * Double(sample.inUse) >= exact {
        // Until the first drop the limit is far too low; from then on it grows by one per round trip.
        exact += lastCut == nil ? 1 : 1 / exact
      }
      clamp(range)
    case .gradient(_, let range):
      guard sample.duration >= Self.fastest, let window = gradient.window(sample, now: now) else { return }
      exact = gradient.limit(after: window, from: exact)
      clamp(range)
    }
  }

  private mutating func clamp(_ range: ClosedRange<Int>) {
    exact = min(max(exact, Double(range.lowerBound)), Double(range.upperBound))
  }
}

/// The state of Netflix's Gradient2 algorithm.
struct GradientState: Sendable {
  struct Window: Sendable, Hashable {
    var mean: Double
    var inUse: Int
  }

  /// The number of windows that the long-term mean covers.
  private static let windows = 600.0
  /// The number of initial windows that use the plain mean.
  private static let warmUp = 10
  private static let smallestWindow = 10

  private var start: Duration?
  private var sum = 0.0
  private var count = 0
  private var inUse = 0
  private var long = 0.0
  private var seen = 0

  /// Adds a sample; returns the mean once per second, if there are at least ten samples.
  mutating func window(_ sample: ConcurrencyLimit.Sample, now: Duration) -> Window? {
    sum += sample.duration.inSeconds
    count += 1
    inUse = max(inUse, sample.inUse)
    let start = start ?? now
    self.start = start
    guard count >= Self.smallestWindow, now - start >= .seconds(1) else { return nil }
    defer { (self.start, sum, count, inUse) = (now, 0, 0, 0) }
    return Window(mean: sum / Double(count), inUse: inUse)
  }

  mutating func limit(after window: Window, from limit: Double) -> Double {
    seen += 1
    let share = seen <= Self.warmUp ? 1 / Double(seen) : 2 / (Self.windows + 1)
    long += (window.mean - long) * share
    // After a slow period, lower the long-term mean faster than its own average would.
    if long / window.mean > 2 { long *= 0.95 }
    guard Double(window.inUse) >= limit / 2 else { return limit }
    let gradient = min(max(1.5 * long / window.mean, 0.5), 1)
    return 0.8 * limit + 0.2 * (gradient * limit + 4)
  }
}
