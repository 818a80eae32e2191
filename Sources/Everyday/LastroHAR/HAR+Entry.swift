// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR {
  /// A request on the wire, and its outcome.
  package struct Entry: Codable, Sendable, Hashable {
    /// The start of the request: ISO 8601 in UTC, with milliseconds.
    package var startedDateTime: String
    /// The duration in milliseconds: the sum of ``timings``.
    package var time: Double
    /// The request, with secrets masked unless the recorder keeps them.
    package var request: Request
    /// The response; status 0 if there was none.
    package var response: Response
    /// An empty object, because this format field is not used.
    package var cache = Cache()
    /// The phases of the exchange.
    package var timings: Timings
    /// The address of the server or of a proxy, if it is known.
    package var serverIPAddress: String?
    /// The identifier of the connection.
    package var connection: String?
    /// A remark.
    package var comment: String?
    /// The value of `AttemptContext.callID`, which is shared by all exchanges of a call.
    package var call: UInt64?
    /// The number of the attempt within the call; 1 for the first.
    package var attempt: Int?
    /// The number of redirects that the attempt followed before this exchange.
    package var hop: Int?
    /// The value of `RequestOptions.operation`.
    package var operation: String?
    /// The reason for a failure; `nil` if the exchange succeeded.
    package var error: Failure?
    /// The facts about the connection.
    package var facts: Connection?

    enum CodingKeys: String, CodingKey {
      case startedDateTime, time, request, response, cache, timings, serverIPAddress, connection, comment
      case call = "_call", attempt = "_attempt", hop = "_hop", operation = "_operation", error = "_error"
      case facts = "_connection"
    }
  }

  /// The effect of a cache; always an empty object.
  package struct Cache: Codable, Sendable, Hashable {}

  /// The phases in milliseconds; -1 if a phase did not occur or is not known. ``ssl`` is part of ``connect``.
  package struct Timings: Codable, Sendable, Hashable {
    /// The wait for a connection, including the queue in front of the engine.
    package var blocked: Double? = -1
    /// The name resolution.
    package var dns: Double? = -1
    /// The opening of the connection, including TLS.
    package var connect: Double? = -1
    /// The sending of the request. It is 0 with libcurl, which does not distinguish it from waiting.
    package var send = 0.0
    /// The wait for the first byte of the response.
    package var wait = 0.0
    /// The reading of the response.
    package var receive = 0.0
    /// The TLS handshake.
    package var ssl: Double? = -1

    /// The sum of the phases, without those that did not occur.
    package var total: Double {
      [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1 ?? 0) }
    }
  }

  /// The reason why an exchange failed: a `TransportError`.
  package struct Failure: Codable, Sendable, Hashable {
    /// The raw value of `TransportError.stage`.
    package var stage: String
    /// The raw value of `TransportError.code`.
    package var code: String
    /// The value of `TransportError.message`.
    package var message: String
    /// The value of `TransportError.hint`.
    package var hint: String?
    /// The value of `TransportError.requestSent`.
    package var requestSent: Bool?
    /// The value of `TransportError.engineCode`.
    package var engineCode: Int32?
    /// The status of the response, if its head was received.
    package var status: Int?
  }

  /// The facts about the connection of an exchange: `TransferFacts` without its times.
  package struct Connection: Codable, Sendable, Hashable {
    /// The value of `TransferFacts.connectionID`.
    package var id: Int64?
    /// The value of `TransferFacts.connectionReused`.
    package var reused = false
    /// The value of `TransferFacts.remotePort`.
    package var remotePort: Int?
    /// The raw value of `TransferFacts.trust`.
    package var trust: String?
    /// The value of `TransferFacts.resends`.
    package var resends = 0
    /// The value of `TransferFacts.bytesSent`.
    package var bytesSent: Int64 = 0
    /// The value of `TransferFacts.bytesReceived`.
    package var bytesReceived: Int64 = 0
  }
}
