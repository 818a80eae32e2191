// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The attempts that a circuit evaluates: those of a period, or the last few.
struct CircuitWindow: Sendable {
  struct Counts: Sendable, Hashable {
    var calls = 0
    var failures = 0
    var slow = 0

    mutating func add(_ sign: Int, failed: Bool, slow isSlow: Bool) {
      calls += sign
      if failed { failures += sign }
      if isSlow { slow += sign }
    }
  }

  private struct Bucket: Sendable {
    /// The number of the time slice that the bucket counts.
    var slice: Int64 = .min
    var counts = Counts()
  }

  private static let slices = 10

  private let window: CircuitBreaker.Window
  private var buckets: [Bucket] = []
  /// The last attempts, as bits; once the ring is full, the oldest is at `next`.
  private var ring: [UInt8] = []
  private var next = 0
  private var total = Counts()

  init(_ window: CircuitBreaker.Window) { self.window = window }

  mutating func add(failed: Bool, slow: Bool, now: Duration) {
    switch window {
    case .time(let length):
      if buckets.isEmpty { buckets = Array(repeating: Bucket(), count: Self.slices) }
      let slice = Self.slice(now, length)
      let place = Int(slice % Int64(Self.slices))
      if buckets[place].slice != slice { buckets[place] = Bucket(slice: slice) }
      buckets[place].counts.add(1, failed: failed, slow: slow)
    case .calls(let count):
      let bits = (failed ? 1 : 0) | (slow ? 2 : 0) as UInt8
      if ring.count < count {
        ring.append(bits)
      } else {
        total.add(-1, failed: ring[next] & 1 != 0, slow: ring[next] & 2 != 0)
        ring[next] = bits
        next = (next + 1) % count
      }
      total.add(1, failed: failed, slow: slow)
    }
  }

  func counts(now: Duration) -> Counts {
    guard case .time(let length) = window else { return total }
    let oldest = Self.slice(now, length) - Int64(Self.slices)
    var sum = Counts()
    for bucket in buckets where bucket.slice > oldest {
      sum.calls += bucket.counts.calls
      sum.failures += bucket.counts.failures
      sum.slow += bucket.counts.slow
    }
    return sum
  }

  mutating func clear() { self = CircuitWindow(window) }

  private static func slice(_ now: Duration, _ length: Duration) -> Int64 {
    max(0, Int64((now / length * Double(slices)).rounded(.down)))
  }
}
