// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP

extension CurlTransport {
  /// Returns the engine, version, connection, proxy and trust of an exchange.
  public func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    let options = ownOptions(request.connection)?.options ?? connection
    return settings.engine.explain(request, with: options, by: CurlConnector.self, settings)
  }
}
