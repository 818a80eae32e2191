// SPDX-License-Identifier: Apache-2.0

/// A position of a ``TransportLayer``, in order from the pipeline down to the engine. Each position has room for one
/// layer.
///
/// The order has these reasons: a response from the cache uses no permit of resilience; `Cookie` is set before the
/// cache compares `Vary`; `Set-Cookie` is read only from the network, for each attempt of a hedge; telemetry covers the
/// requests that are sent; an injected fault looks to all of them as one of the network.
package enum TransportLayerPlace: Int, CaseIterable, Sendable {
  case cookieSending, cache, resilience, cookieReceipt, telemetry, faults
}

/// A map from positions to values. Most maps are empty, which costs nothing.
package struct ByLayerPlace<Value: Sendable>: Sendable {
  private var values: [TransportLayerPlace: Value]?

  package init() {}

  package subscript(_ place: TransportLayerPlace) -> Value? {
    get { values?[place] }
    set {
      guard values != nil || newValue != nil else { return }
      values = values ?? [:]
      values?[place] = newValue
    }
  }

  /// Whether no position has a value.
  var isEmpty: Bool { values?.isEmpty ?? true }

  /// Replaces the value of each position at which `other` has one.
  mutating func override(by other: Self) {
    guard let others = other.values else { return }
    values = (values ?? [:]).merging(others) { _, new in new }
  }
}
