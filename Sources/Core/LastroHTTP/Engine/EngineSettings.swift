// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

/// The limits of an ``HTTPEngine``, and what it adds to requests: the same for every transport.
package struct EngineSettings: Sendable {
  package var connectionsPerHost = 128
  package var http2StreamsPerHost = 1_000
  package var http2StreamsPerConnection = 100
  package var queuedRequests = 16_384
  /// With 0 a connection is closed as soon as it carries no request, and never carries another.
  package var idleConnections = 256
  /// In nanoseconds, as the loop's clock counts: a duration is turned into them by two divisions of 128 bits.
  package var idleLifetime: Int64 = 60_000_000_000
  package var connectionLifetime: Int64 = 300_000_000_000
  /// Dials to one host at a time.
  package var dialsPerHost = 16
  /// Whether HTTP/2 is offered at all.
  var offersHTTP2 = true
  package var messages: MessageSettings = MessageSettings()
  package var connectionObserver: (@Sendable (Network.ConnectionChange) -> Void)?
  /// Bytes that one exchange of HTTP/1.1 may send in a turn of the loop, before others have theirs.
  package var sentBytesPerTurn = 512 * 1024
  package var http2Liveness = HTTP2Liveness.Limits()

  package init() {}

  var keepsIdle: Bool { idleConnections > 0 }
}

/// The limits and additions of every exchange.
package struct MessageSettings: Sendable {
  package var limits = ExchangeLimits()
  package var decompresses = true
  package var decoding = DecodingLimits()
  package var streamBufferBytes = 1 << 20
  package var userAgent: String? = "Lastro/\(PackageVersion.text)"
  package var sendsAccept = true
  /// Longest time spent on the body of an answer outside 200–299, whose status is what matters. Default `nil`: what
  /// the request's own limits allow.
  package var errorBodyTime: Duration?

  package init() {}
}
