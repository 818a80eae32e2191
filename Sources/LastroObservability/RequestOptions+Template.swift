// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// What a request says of itself to metrics and spans.
private struct TelemetryUse: Sendable {
  var urlTemplate: String?
}

extension RequestOptions {
  /// The request's path with placeholders, of few distinct values, such as `/users/{id}`. Default `nil`.
  ///
  /// It is the `url.template` of metrics and spans, and names spans of requests: `GET /users/{id}`. Nothing is checked
  /// or sent by it.
  public var urlTemplate: String? {
    get { (layerUses[.telemetry] as? TelemetryUse)?.urlTemplate }
    set { layerUses[.telemetry] = newValue.map { TelemetryUse(urlTemplate: $0) } }
  }
}
