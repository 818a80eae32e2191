// SPDX-License-Identifier: Apache-2.0

internal import Lastro

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
