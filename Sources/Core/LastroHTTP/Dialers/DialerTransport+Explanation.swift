// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension DialerTransport {
  /// Returns the dialer, HTTP version and connection limit of an exchange.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    let options = request.connection ?? configuration.connection ?? ConnectionOptions()
    return configuration.engine.explain(request, with: options, by: DialerConnector.self, dialerName)
  }
}
