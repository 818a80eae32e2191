// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Synchronization

/// A metrics factory in the format of Prometheus, with only the features that this service needs. A real service would
/// use swift-prometheus, or export over OTLP.
final class PrometheusMetrics: MetricsFactory {
  private struct Key: Hashable {
    let name: String
    let labels: String
  }

  private let series = Mutex<[Key: any PrometheusSeries]>([:])

  /// Returns the text of `/metrics`, sorted by name.
  func text() -> String {
    let all = series.withLock { $0 }.sorted { ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels) }
    var text = ""
    var last = ""
    for (key, series) in all {
      if key.name != last { text += "# TYPE \(key.name) \(series.kind)\n" }
      last = key.name
      text += series.lines(key.name, key.labels)
    }
    return text
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    find("\(label)_total", dimensions, PrometheusCounter())
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    find(label, dimensions, PrometheusGauge())
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    aggregate
      ? find(label.hasSuffix(".duration") ? "\(label)_seconds" : label, dimensions, PrometheusHistogram())
      : find(label, dimensions, PrometheusGauge())
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    find("\(label)_seconds", dimensions, PrometheusHistogram())
  }

  // Scraped series must stay. A series that disappears and reappears would look like a restart.
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}

  /// Returns the series of a name and its labels. Repeated calls return the same series.
  private func find<Series: PrometheusSeries>(
    _ label: String, _ dimensions: [(String, String)], _ new: Series
  ) -> Series {
    let name = String(label.map { $0.isLetter || $0.isNumber ? $0 : "_" })
    let labels = dimensions.map { "\($0.0.replacing(".", with: "_"))=\"\($0.1.replacing("\"", with: "'"))\"" }
    let key = Key(name: name, labels: labels.joined(separator: ","))
    return series.withLock { series in
      if let known = series[key] as? Series { return known }
      series[key] = new
      return new
    }
  }
}
