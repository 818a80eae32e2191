// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
internal import Lastro
internal import LastroSupport

/// The attributes of a metric value.
struct MetricAttributes: Hashable, Sendable {
  /// An attribute that only one metric has.
  struct Own: Hashable, Sendable {
    var name: String
    var value: String
  }

  var method: String?
  var address: String?
  var port: Int?
  var scheme: String?
  var template: String?
  var operation: String?
  var status: Int?
  var errorType: String?
  var version: String?
  var own: Own?

  var dimensions: [(String, String)] {
    let all: [(String, String?)] = [
      ("http.request.method", method), ("server.address", address), ("server.port", port.map(String.init)),
      ("url.scheme", scheme), ("url.template", template), ("lastro.operation", operation),
      ("http.response.status_code", status.map(String.init)),
      ("error.type", errorType), ("network.protocol.version", version),
    ]
    return all.compactMap { name, value in value.map { (name, $0) } } + (own.map { [($0.name, $0.value)] } ?? [])
  }
}

/// The metrics created so far, limited in number.
final class MetricInstruments: Sendable {
  /// The name that OpenTelemetry's SDKs use for the set that receives the values beyond the limit.
  private static let overflow = [("otel.metric.overflow", "true")]

  private struct Cache<Instrument> {
    var made: [String: [MetricAttributes: Instrument]] = [:]
    var overflow: [String: Instrument] = [:]
  }

  private let factory: any MetricsFactory
  private let limit: Int
  private let recorders = Lock(Cache<Recorder>())
  private let gauges = Lock(Cache<Recorder>())
  private let counters = Lock(Cache<Counter>())
  private let meters = Lock(Cache<Meter>())

  init(factory: any MetricsFactory, limit: Int) {
    self.factory = factory
    self.limit = limit
  }

  func record(_ value: Double, _ label: String, _ attributes: MetricAttributes) {
    instrument(in: recorders, label, attributes) {
      Recorder(label: label, dimensions: $0, aggregate: true, factory: factory)
    }.record(value)
  }

  func set(_ value: Double, _ label: String, _ attributes: MetricAttributes) {
    instrument(in: gauges, label, attributes) {
      Recorder(label: label, dimensions: $0, aggregate: false, factory: factory)
    }.record(value)
  }

  func count(_ label: String, _ attributes: MetricAttributes) {
    instrument(in: counters, label, attributes) {
      Counter(label: label, dimensions: $0, factory: factory)
    }.increment()
  }

  /// Changes a meter. The meter is kept, because it holds the sum for backends without meters.
  func add(_ amount: Int, _ label: String, _ attributes: MetricAttributes) {
    let meter = instrument(in: meters, label, attributes) {
      Meter(label: label, dimensions: $0, factory: factory)
    }
    if amount > 0 { meter.increment() } else { meter.decrement() }
  }

  private func instrument<Instrument>(
    in cache: Lock<Cache<Instrument>>, _ label: String, _ attributes: MetricAttributes,
    make: ([(String, String)]) -> Instrument
  ) -> Instrument {
    let (known, isFull) = cache.withLock { cache -> (Instrument?, Bool) in
      if let known = cache.made[label]?[attributes] { return (known, false) }
      let isFull = (cache.made[label]?.count ?? 0) >= limit
      return (isFull ? cache.overflow[label] : nil, isFull)
    }
    if let known { return known }
    // Create it outside the lock, because the factory is the application's code. A thread that comes second drops its
    // own.
    let made = make(isFull ? Self.overflow : attributes.dimensions)
    return cache.withLock { cache in
      if isFull {
        let known = cache.overflow[label] ?? made
        cache.overflow[label] = known
        return known
      }
      let known = cache.made[label]?[attributes] ?? made
      cache.made[label, default: [:]][attributes] = known
      return known
    }
  }
}

extension MetricInstruments {
  /// Records the action of a layer around the transport on a transfer.
  func record(_ note: TransferFacts.Note, _ request: MetricAttributes) {
    if let bound = note.bound {
      var attributes = MetricAttributes(address: request.address, port: request.port, scheme: request.scheme)
      if !note.detail.isEmpty { attributes.own = .init(name: "lastro.limiter.part", value: note.detail) }
      set(Double(bound.limit), "lastro.client.limiter.limit", attributes)
      set(Double(bound.inUse), "lastro.client.limiter.in_use", attributes)
    }
    if let wait = note.wait {
      record(wait.inSeconds, "lastro.client.wait.duration", request.with("lastro.wait", note.name))
    }
    switch note.name {
    case "circuit": count("lastro.client.circuit.changes", request.with("lastro.circuit.state", note.detail))
    case "hedged": count("lastro.client.hedges", request.with("lastro.hedge.outcome", note.detail))
    case "cache": count("lastro.client.cache.lookups", request.with("lastro.cache.outcome", note.detail))
    case "fleet": count("lastro.client.fleet.changes", request.with("lastro.fleet.change", note.detail))
    default: break
    }
  }

  /// Counts a local refusal.
  func record(refusal error: TransportError, _ request: MetricAttributes) {
    var attributes = request
    attributes.errorType = HTTPAttributes.errorType(of: error)
    count("lastro.client.refusals", attributes)
  }
}

extension MetricAttributes {
  fileprivate func with(_ name: String, _ value: String) -> Self {
    var result = self
    result.own = Own(name: name, value: value)
    return result
  }
}
