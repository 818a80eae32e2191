// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroWire

/// The limits of an ``HTTPEngine``, and the fields that it adds to requests. They are the same for every transport.
package struct EngineSettings: Sendable {
  package var connectionsPerHost = 128
  package var http2StreamsPerHost = 1_000
  package var http2StreamsPerConnection = 100
  package var queuedRequests = 16_384
  /// The maximum number of idle connections. With 0, a connection is closed as soon as it carries no request, and is
  /// never reused.
  package var idleConnections = 256
  /// The time after which an idle connection is closed. In nanoseconds, because converting a duration takes two
  /// divisions of 128 bits.
  package var idleLifetime: Int64 = 60_000_000_000
  package var connectionLifetime: Int64 = 300_000_000_000
  /// The maximum number of concurrent dials to one host.
  package var dialsPerHost = 16
  /// Whether HTTP/2 is offered at all.
  var offersHTTP2 = true
  package var messages: MessageSettings = MessageSettings()
  package var connectionObserver: (@Sendable (ConnectionChange) -> Void)?
  /// The number of bytes that one HTTP/1.1 exchange may send in a turn of the loop, before others are served.
  package var sentBytesPerTurn = 512 * 1024
  package var http2Liveness = HTTP2Liveness.Limits()

  package init() {}

  var keepsIdle: Bool { idleConnections > 0 }

  /// Returns the HTTP version of the options, or HTTP/1.1 where HTTP/2 is not used.
  ///
  /// - Parameter isForwarded: whether a proxy receives the requests with their whole URLs. It is not known beforehand
  ///   whether it speaks HTTP/2.
  func usableVersion(
    _ version: ConnectionOptions.HTTPVersion, isForwarded: Bool
  ) -> ConnectionOptions.HTTPVersion {
    offersHTTP2 && !isForwarded ? version : .http1
  }
}

/// The limits of every exchange, and the fields that are added to it.
package struct MessageSettings: Sendable {
  package var limits = ExchangeLimits()
  /// Whether content codings are asked for, unless the request sets `Accept-Encoding` or `Range`.
  package var decompresses = true
  package var decoding = DecodingLimits()
  package var streamBufferBytes = 1 << 20
  /// The value of `User-Agent` for a request that has none; `nil` to send none.
  package var userAgent: String? = "Lastro/\(PackageVersion.text)"
  /// Whether `Accept: */*` is sent with a request that has no `Accept`.
  package var sendsAccept = true
  /// The longest time spent on the body of a response outside 200–299, because its status is enough. Default `nil`: the
  /// request's own limits apply.
  package var errorBodyTime: Duration?

  /// The settings of requests whose heads get no fields but those that HTTP requires.
  package static var bare: Self {
    var settings = Self()
    settings.userAgent = nil
    settings.decompresses = false
    settings.sendsAccept = false
    return settings
  }
}
