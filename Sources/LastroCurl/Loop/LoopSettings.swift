// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro
internal import LastroHTTP2

/// The parts of ``CurlConfiguration`` that a loop needs, read once when it starts.
struct LoopSettings: Sendable {
  var connectionsPerHost: Int
  var http2StreamsPerHost: Int
  var queuedRequests: Int
  var idleConnections: Int
  /// In nanoseconds, as the loop's clock counts: a duration is turned into them by two divisions of 128 bits.
  var idleLifetime: Int64
  var connectionLifetime: Int64
  var lookups: Int
  /// The environment's proxies when the engine was made.
  var environmentProxies: ProxyResolver
  /// Holds for every request, whatever its own options say.
  var trustJudge: (any ServerTrustJudge)?
  var transfer: TransferLimits
  var connectionObserver: (@Sendable (Network.ConnectionChange) -> Void)?
  var turn = TurnShares()
  var http2Liveness = HTTP2Liveness.Limits()
}

/// Bytes that one connection may have of a turn of the loop, before others have theirs.
struct TurnShares: Sendable {
  /// Read for TLS; each call counts as `CLASTRO_READ_BYTES` more.
  var tlsBytes = Int(CLASTRO_TURN_BYTES)
  /// Sent for one exchange of HTTP/1.1.
  var sentBytes = 512 * 1024
}

/// Limits every transfer obeys.
struct TransferLimits: Sendable {
  var headBytes: Int
  var headFields: Int
  var interimResponses: Int
  var decompresses: Bool
  var contentCodings: Int
  var decompressionRatio: Int
  var decompressionFloor: Int64
  var streamBufferBytes: Int
  var userAgent: String?
  var sendsAccept = true
}
