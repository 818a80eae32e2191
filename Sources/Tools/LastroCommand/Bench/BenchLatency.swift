// SPDX-License-Identifier: Apache-2.0

/// The times of successful requests, in seconds.
struct BenchLatency: Encodable, Equatable {
  var p50: Double
  var p90: Double
  var p99: Double
  var max: Double

  /// Returns the percentiles by the nearest rank; `nil` without times.
  init?(_ times: [Duration]) {
    // Sorting whole numbers costs a benchmark less than sorting durations.
    let sorted = times.map { Int64($0 / .nanoseconds(1)) }.sorted()
    guard let last = sorted.last else { return nil }
    func rank(_ percent: Int) -> Double {
      let place = (sorted.count * percent + 99) / 100
      return Self.seconds(sorted[Swift.max(place, 1) - 1])
    }
    (p50, p90, p99, max) = (rank(50), rank(90), rank(99), Self.seconds(last))
  }

  private static func seconds(_ nanoseconds: Int64) -> Double { (Double(nanoseconds) / 1000).rounded() / 1_000_000 }
}
