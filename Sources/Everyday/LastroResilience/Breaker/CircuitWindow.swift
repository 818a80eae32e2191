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
    case .time:
      var counts = Counts()
      counts.add(1, failed: failed, slow: slow)
      add(counts, now: now)
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

  private mutating func add(_ counts: Counts, now: Duration) {
    guard case .time(let length) = window else { return }
    if buckets.isEmpty { buckets = Array(repeating: Bucket(), count: Self.slices) }
    let slice = Self.slice(now, length)
    let place = Int(slice % Int64(Self.slices))
    if buckets[place].slice != slice { buckets[place] = Bucket(slice: slice) }
    buckets[place].counts.calls += counts.calls
    buckets[place].counts.failures += counts.failures
    buckets[place].counts.slow += counts.slow
  }

  /// Returns a window of another size with the attempts that this one has counted, as far as they fit; an empty one if
  /// the other counts in another way.
  func resized(to other: CircuitBreaker.Window, now: Duration) -> CircuitWindow {
    guard other != window else { return self }
    var result = CircuitWindow(other)
    switch (window, other) {
    case (.time(let length), .time):
      let oldest = Self.slice(now, length) - Int64(Self.slices)
      for bucket in buckets.sorted(by: { $0.slice < $1.slice }) where bucket.slice > oldest {
        // The last moment of the bucket, so that its attempts do not leave the window too early.
        let end = length * (Double(bucket.slice) + 1) / Double(Self.slices) - .nanoseconds(1)
        result.add(bucket.counts, now: min(end, now))
      }
    case (.calls, .calls(let count)):
      for bits in (ring[next...] + ring[..<next]).suffix(count) {
        result.add(failed: bits & 1 != 0, slow: bits & 2 != 0, now: .zero)
      }
    default: break
    }
    return result
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
