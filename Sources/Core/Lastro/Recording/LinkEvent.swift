// SPDX-License-Identifier: Apache-2.0

/// An event on the connections that a recorded transfer uses.
package enum LinkEvent: Sendable {
  /// The transfer was given to the engine at the first time, and began at the second one.
  case began(enqueuedAt: Int64, startedAt: Int64, settings: EngineNote)
  /// The transfer uses a connection from here on.
  case used(LinkNote)
  /// Bytes were accepted by the connection.
  case sent([UInt8])
  /// No bytes were accepted.
  case blocked
  case read([UInt8])
  /// The peer ended its direction.
  case ended(isClean: Bool)
  /// A read or a write failed.
  case failed(TransportError)
  /// The engine asked how far the sent bytes were delivered.
  case delivery(acknowledged: UInt64, queued: UInt64, acknowledgedAt: Int64?)
  /// The connection was closed.
  case closed
  /// A dial for the transfer failed.
  case dialFailed(TransportError)
}

/// A connection of a recorded transfer.
package struct LinkNote: Sendable {
  /// The time at which the connection opened, on the engine's clock.
  package var openedAt: Int64
  package var isReused: Bool
  package var verdict: TrustVerdict
  package var hasTLS: Bool
  package var readsWhole: Bool
  package var isProxied: Bool
  package var applicationProtocol: String?
  package var remoteAddress: String?
  package var remotePort: Int?
  package var localPort: Int?
  package var timings: TransferFacts.Timings

  package init(
    openedAt: Int64, isReused: Bool, verdict: TrustVerdict, hasTLS: Bool, readsWhole: Bool, isProxied: Bool,
    applicationProtocol: String?, remoteAddress: String?, remotePort: Int?, localPort: Int?,
    timings: TransferFacts.Timings
  ) {
    (self.openedAt, self.isReused, self.verdict, self.hasTLS) = (openedAt, isReused, verdict, hasTLS)
    (self.readsWhole, self.isProxied, self.applicationProtocol) = (readsWhole, isProxied, applicationProtocol)
    (self.remoteAddress, self.remotePort, self.localPort) = (remoteAddress, remotePort, localPort)
    self.timings = timings
  }
}

/// The settings of an engine that decide how it reads and writes.
package struct EngineNote: Sendable, Codable, Equatable {
  package var userAgent: String?
  package var sendsAccept: Bool
  package var decompresses: Bool
  package var maximumHeadBytes: Int
  package var maximumHeaderFields: Int
  package var maximumInterimResponses: Int
  package var maximumContentCodings: Int
  package var maximumDecompressionRatio: Int
  package var streamBufferBytes: Int
  package var idleConnections: Int

  enum CodingKeys: String, CodingKey {
    case userAgent = "user_agent", sendsAccept = "sends_accept", decompresses, maximumHeadBytes = "maximum_head_bytes"
    case maximumHeaderFields = "maximum_header_fields", maximumInterimResponses = "maximum_interim_responses"
    case maximumContentCodings = "maximum_content_codings", maximumDecompressionRatio = "maximum_decompression_ratio"
    case streamBufferBytes = "stream_buffer_bytes", idleConnections = "idle_connections"
  }

  package init(
    userAgent: String?, sendsAccept: Bool, decompresses: Bool, maximumHeadBytes: Int, maximumHeaderFields: Int,
    maximumInterimResponses: Int, maximumContentCodings: Int, maximumDecompressionRatio: Int, streamBufferBytes: Int,
    idleConnections: Int
  ) {
    (self.userAgent, self.sendsAccept, self.decompresses) = (userAgent, sendsAccept, decompresses)
    (self.maximumHeadBytes, self.maximumHeaderFields) = (maximumHeadBytes, maximumHeaderFields)
    (self.maximumInterimResponses, self.maximumContentCodings) = (maximumInterimResponses, maximumContentCodings)
    self.maximumDecompressionRatio = maximumDecompressionRatio
    (self.streamBufferBytes, self.idleConnections) = (streamBufferBytes, idleConnections)
  }
}
