// SPDX-License-Identifier: Apache-2.0

public import Lastro

/// The options of a request for metrics and spans.
private struct TelemetryUse: Sendable {
  var urlTemplate: String?
}

extension RequestOptions {
  /// The request's path with placeholders, with few distinct values, such as `/users/{id}`. Default `nil`.
  ///
  /// It is the `url.template` attribute of metrics and spans, and part of the name of request spans: `GET /users/{id}`.
  /// It is not checked, and not sent.
  public var urlTemplate: String? {
    get { (layerUses[.telemetry] as? TelemetryUse)?.urlTemplate }
    set { layerUses[.telemetry] = newValue.map { TelemetryUse(urlTemplate: $0) } }
  }
}
