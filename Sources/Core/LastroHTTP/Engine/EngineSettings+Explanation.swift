// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro

extension EngineSettings {
  /// Returns the facts that `explain` shows about an exchange: the connector's facts, with the engine's own after the
  /// first.
  package func explain<C: Connector>(
    _ request: TransferRequest, with options: ConnectionOptions, by connector: C.Type, _ settings: C.Settings
  ) -> [FetchExplanation.Fact] {
    let isForwarded = C.isForwarded(request, with: options, settings)
    let version = usableVersion(options.httpVersion, isForwarded: isForwarded)
    let facts = C.explain(request, with: options, settings)
    let own: [FetchExplanation.Fact] = [
      .init("HTTP", Self.explanation(of: version, isTLS: request.head.scheme == "https")),
      .init("connections", "up to \(connectionsPerHost) for \(isForwarded ? "the proxy" : "a host")"),
    ]
    return facts.prefix(1) + own + facts.dropFirst()
  }

  private static func explanation(of version: ConnectionOptions.HTTPVersion, isTLS: Bool) -> String {
    switch version {
    case .http1: "1.1"
    case .automatic where !isTLS: "1.1"
    case .automatic, .http2: isTLS ? "2 where the server offers it, else 1.1" : "2, with prior knowledge"
    }
  }
}
