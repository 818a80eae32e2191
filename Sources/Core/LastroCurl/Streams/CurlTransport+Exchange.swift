// SPDX-License-Identifier: Apache-2.0

package import LastroHTTP

extension CurlTransport {
  /// The engine's options and limits, for HTTP over streams of its dialers.
  package var exchange: DialerTransport.Configuration {
    var exchange = DialerTransport.Configuration()
    exchange.engine = settings.engine
    // Connections of dialers are not reported.
    exchange.engine.connectionObserver = nil
    exchange.connection = connection
    return exchange
  }

  /// The loop for HTTP over the engine's streams.
  var loopForDialers: EventLoop { loops[0].loop }
}
