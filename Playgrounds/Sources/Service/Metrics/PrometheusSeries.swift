// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Synchronization

/// A series: the values of one name with one set of labels.
protocol PrometheusSeries: AnyObject, Sendable {
  var kind: String { get }

  func lines(_ name: String, _ labels: String) -> String
}

final class PrometheusCounter: PrometheusSeries, CounterHandler {
  private let count = Mutex<Int64>(0)

  let kind = "counter"

  func increment(by amount: Int64) { count.withLock { $0 += amount } }
  func reset() { count.withLock { $0 = 0 } }

  func lines(_ name: String, _ labels: String) -> String { "\(name){\(labels)} \(count.withLock { $0 })\n" }
}

final class PrometheusGauge: PrometheusSeries, MeterHandler, RecorderHandler {
  private let value = Mutex<Double>(0)

  let kind = "gauge"

  func set(_ value: Int64) { set(Double(value)) }
  func set(_ value: Double) { self.value.withLock { $0 = value } }
  func increment(by amount: Double) { value.withLock { $0 += amount } }
  func decrement(by amount: Double) { value.withLock { $0 -= amount } }
  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }

  func lines(_ name: String, _ labels: String) -> String { "\(name){\(labels)} \(value.withLock { $0 })\n" }
}

final class PrometheusHistogram: PrometheusSeries, RecorderHandler, TimerHandler {
  private struct State {
    var counts = [Int](repeating: 0, count: PrometheusHistogram.boundaries.count)
    var count = 0
    var sum = 0.0
  }

  /// The bucket boundaries in seconds that OpenTelemetry's conventions recommend for requests.
  private static let boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

  private let state = Mutex(State())

  let kind = "histogram"

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    state.withLock { state in
      for (index, boundary) in Self.boundaries.enumerated() where value <= boundary { state.counts[index] += 1 }
      state.count += 1
      state.sum += value
    }
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  func lines(_ name: String, _ labels: String) -> String {
    let state = state.withLock { $0 }
    let rest = labels.isEmpty ? "" : ",\(labels)"
    let buckets = zip(Self.boundaries.map { "\($0)" } + ["+Inf"], state.counts + [state.count])
    return buckets.map { "\(name)_bucket{le=\"\($0)\"\(rest)} \($1)\n" }.joined()
      + "\(name)_sum{\(labels)} \(state.sum)\n\(name)_count{\(labels)} \(state.count)\n"
  }
}
