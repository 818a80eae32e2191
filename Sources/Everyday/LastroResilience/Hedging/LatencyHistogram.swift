// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A histogram of the recent latency of first tries. It has two halves of 30 s; the older is dropped when the newer is
/// full.
struct LatencyHistogram: Sendable {
  static let half = Duration.seconds(30)
  /// The ratio of successive bucket bounds, which run from 1 ms to about 60 s.
  private static let growth = 1.19
  private static let bucketCount = 64

  private var current = [Int](repeating: 0, count: bucketCount)
  private var earlier = [Int](repeating: 0, count: bucketCount)
  private var start: Duration?

  mutating func add(_ latency: Duration, now: Duration) {
    turn(now)
    current[Self.bucket(of: latency)] += 1
  }

  /// Returns the latency that the given share of the samples does not exceed; `nil` with fewer than `minimum` samples.
  mutating func percentile(_ share: Double, minimum: Int, now: Duration) -> Duration? {
    turn(now)
    let counts = zip(current, earlier).map(+)
    let total = counts.reduce(0, +)
    guard total >= minimum, total > 0 else { return nil }
    let rank = max(1, Int((share * Double(total)).rounded(.up)))
    var seen = 0
    for (bucket, count) in counts.enumerated() {
      seen += count
      if seen >= rank { return Self.upperBound(of: bucket) }
    }
    return nil
  }

  private mutating func turn(_ now: Duration) {
    let start = start ?? now
    self.start = start
    guard now - start >= Self.half else { return }
    let isOld = now - start >= Self.half * 2
    earlier = isOld ? [Int](repeating: 0, count: Self.bucketCount) : current
    current = [Int](repeating: 0, count: Self.bucketCount)
    self.start = now
  }

  /// The upper bounds in seconds. They are computed without a logarithm, so that every machine finds the same bucket.
  private static let ends: [Double] = (0..<bucketCount).reduce(into: []) { ends, _ in
    ends.append((ends.last ?? 0.001 / growth) * growth)
  }

  private static func bucket(of latency: Duration) -> Int {
    let seconds = latency.inSeconds
    return ends.firstIndex { seconds <= $0 } ?? bucketCount - 1
  }

  private static func upperBound(of bucket: Int) -> Duration { .seconds(ends[bucket]) }
}
