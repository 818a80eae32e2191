// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

extension DialerTransport {
  /// Dialer, version and connections of an exchange.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    let isTLS = request.head.scheme == "https"
    let version =
      switch (request.connection ?? configuration.connection)?.httpVersion ?? .automatic {
      case .http1: "1.1"
      case .automatic where !isTLS: "1.1"
      case .automatic, .http2: isTLS ? "2 where the server offers it, else 1.1" : "2, with prior knowledge"
      }
    return [
      .init("dialer", dialerName), .init("HTTP", version),
      .init("connections", "up to \(configuration.connectionsPerHost) for a host"),
    ]
  }
}
