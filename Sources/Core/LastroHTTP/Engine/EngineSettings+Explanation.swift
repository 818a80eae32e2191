// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro

extension EngineSettings {
  /// Returns the facts that `explain` shows about an exchange: those of its route, with the engine's own after the
  /// first.
  ///
  /// - Parameters:
  ///   - route: the facts about the route. The first one names the component that opens connections.
  ///   - version: the HTTP version of the request's options.
  ///   - isForwarded: whether a proxy receives the request with its whole URL. Default false.
  package func explain(
    _ request: TransferRequest, over route: [FetchExplanation.Fact], version: ConnectionOptions.HTTPVersion,
    isForwarded: Bool = false
  ) -> [FetchExplanation.Fact] {
    let version = usableVersion(version, isForwarded: isForwarded)
    var own: [FetchExplanation.Fact] = [
      .init("HTTP", Self.explanation(of: version, isTLS: request.head.scheme == "https")),
      .init("connections", "up to \(connectionsPerHost) for \(isForwarded ? "the proxy" : "a host")"),
    ]
    if let codings = acceptEncoding, codings != "gzip, deflate" { own.append(.init("codings", codings)) }
    return route.prefix(1) + own + route.dropFirst()
  }

  private static func explanation(of version: ConnectionOptions.HTTPVersion, isTLS: Bool) -> String {
    switch version {
    case .http1: "1.1"
    case .automatic where !isTLS: "1.1"
    case .automatic, .http2: isTLS ? "2 where the server offers it, else 1.1" : "2, with prior knowledge"
    }
  }
}
