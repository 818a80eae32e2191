// SPDX-License-Identifier: Apache-2.0

/// Where a ``TransportLayer`` stands, from the pipeline down to the engine. Each place has room for one.
///
/// An answer from the cache spends no permit of resilience; `Cookie` is there before the cache compares `Vary`;
/// `Set-Cookie` is taken from the network alone, and of each try of a hedge; telemetry is of what is sent.
package enum TransportLayerPlace: Int, CaseIterable, Sendable {
  case cookieSending, cache, resilience, cookieReceipt, telemetry
}

/// A value for each place that has one; most have none, which costs nothing.
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

  /// Whether no place has a value.
  var isEmpty: Bool { values?.isEmpty ?? true }

  /// Takes the other's value wherever it has one.
  mutating func override(by other: Self) {
    guard let others = other.values else { return }
    values = (values ?? [:]).merging(others) { _, new in new }
  }
}
