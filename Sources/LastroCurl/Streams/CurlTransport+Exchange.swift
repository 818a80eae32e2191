// SPDX-License-Identifier: Apache-2.0

package import LastroHTTP

extension CurlTransport {
  /// The engine's options and limits, for HTTP over streams that dialers of it open.
  package var exchange: DialerTransport.Configuration {
    var exchange = DialerTransport.Configuration()
    exchange.connection = connection
    exchange.connectionsPerHost = settings.connectionsPerHost
    exchange.http2StreamsPerConnection = min(settings.http2StreamsPerHost, exchange.http2StreamsPerConnection)
    exchange.maximumQueuedRequests = settings.queuedRequests
    exchange.idleConnections = settings.idleConnections
    exchange.idleLifetime = .nanoseconds(settings.idleLifetime)
    exchange.connectionLifetime = .nanoseconds(settings.connectionLifetime)
    exchange.maximumHeadBytes = settings.transfer.headBytes
    exchange.maximumHeaderFields = settings.transfer.headFields
    exchange.maximumInterimResponses = settings.transfer.interimResponses
    exchange.decompresses = settings.transfer.decompresses
    exchange.maximumContentCodings = settings.transfer.contentCodings
    exchange.maximumDecompressionRatio = settings.transfer.decompressionRatio
    exchange.streamBufferBytes = settings.transfer.streamBufferBytes
    exchange.userAgent = settings.transfer.userAgent
    exchange.sendsAccept = settings.transfer.sendsAccept
    return exchange
  }
}
