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
  /// Frames of HTTP/2 were accepted by the connection, or received.
  case frames(isSent: Bool, [FramePiece])
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
  /// The state of the connection, if it is one of HTTP/2.
  package var session: SessionNote?

  package init(
    openedAt: Int64, isReused: Bool, verdict: TrustVerdict, hasTLS: Bool, readsWhole: Bool, isProxied: Bool,
    applicationProtocol: String?, remoteAddress: String?, remotePort: Int?, localPort: Int?,
    timings: TransferFacts.Timings, session: SessionNote?
  ) {
    (self.openedAt, self.isReused, self.verdict, self.hasTLS) = (openedAt, isReused, verdict, hasTLS)
    (self.readsWhole, self.isProxied, self.applicationProtocol) = (readsWhole, isProxied, applicationProtocol)
    (self.remoteAddress, self.remotePort, self.localPort) = (remoteAddress, remotePort, localPort)
    self.timings = timings
    self.session = session
  }
}

/// The settings of an engine that decide how it reads and writes.
package struct EngineNote: Sendable, Codable, Equatable {
  package var userAgent: String?
  package var sendsAccept: Bool
  package var decompresses: Bool
  /// Whether large uploads wait for 100 (Continue): not after the server has ignored or refused that.
  package var mayExpect: Bool
  /// The names of the content codings that were asked for; `nil` for gzip and deflate.
  package var codings: [String]?
  package var maximumHeadBytes: Int
  package var maximumHeaderFields: Int
  package var maximumInterimResponses: Int
  package var maximumContentCodings: Int
  package var maximumDecompressionRatio: Int
  package var streamBufferBytes: Int
  package var idleConnections: Int
  package var http2: HTTP2

  /// The limits of HTTP/2, with times in nanoseconds.
  package struct HTTP2: Sendable, Codable, Equatable {
    package var streamsPerHost: Int
    package var streamsPerConnection: Int
    package var silence: UInt64
    package var answer: UInt64
    package var probe: UInt64

    enum CodingKeys: String, CodingKey {
      case streamsPerHost = "streams_per_host", streamsPerConnection = "streams_per_connection"
      case silence = "silence_ns", answer = "answer_ns", probe = "probe_ns"
    }

    package init(streamsPerHost: Int, streamsPerConnection: Int, silence: UInt64, answer: UInt64, probe: UInt64) {
      (self.streamsPerHost, self.streamsPerConnection) = (streamsPerHost, streamsPerConnection)
      (self.silence, self.answer, self.probe) = (silence, answer, probe)
    }
  }

  enum CodingKeys: String, CodingKey {
    case userAgent = "user_agent", sendsAccept = "sends_accept", decompresses, mayExpect = "may_expect", codings
    case maximumHeadBytes = "maximum_head_bytes"
    case maximumHeaderFields = "maximum_header_fields", maximumInterimResponses = "maximum_interim_responses"
    case maximumContentCodings = "maximum_content_codings", maximumDecompressionRatio = "maximum_decompression_ratio"
    case streamBufferBytes = "stream_buffer_bytes", idleConnections = "idle_connections", http2
  }

  package init(
    userAgent: String?, sendsAccept: Bool, decompresses: Bool, mayExpect: Bool, maximumHeadBytes: Int,
    maximumHeaderFields: Int,
    maximumInterimResponses: Int, maximumContentCodings: Int, maximumDecompressionRatio: Int, streamBufferBytes: Int,
    idleConnections: Int, http2: HTTP2
  ) {
    (self.userAgent, self.sendsAccept, self.decompresses) = (userAgent, sendsAccept, decompresses)
    self.mayExpect = mayExpect
    (self.maximumHeadBytes, self.maximumHeaderFields) = (maximumHeadBytes, maximumHeaderFields)
    (self.maximumInterimResponses, self.maximumContentCodings) = (maximumInterimResponses, maximumContentCodings)
    self.maximumDecompressionRatio = maximumDecompressionRatio
    (self.streamBufferBytes, self.idleConnections, self.http2) = (streamBufferBytes, idleConnections, http2)
  }
}
