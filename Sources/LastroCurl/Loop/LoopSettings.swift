// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// What a loop needs to know of ``CurlConfiguration``, once, when it starts.
struct LoopSettings: Sendable {
  var connectionsPerHost: Int
  var http2StreamsPerHost: Int
  var queuedRequests: Int
  var idleConnections: Int
  var idleLifetime: Duration
  var connectionLifetime: Duration
  var lookups: Int
  /// As the environment said when the engine was made.
  var environmentProxies: ProxyResolver
  /// Holds for every request, whatever its own options say.
  var trustJudge: (any ServerTrustJudge)?
  var transfer: TransferLimits
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
  var idleLifetimeSeconds: Int
  var connectionLifetimeSeconds: Int
  var userAgent: String?
}
