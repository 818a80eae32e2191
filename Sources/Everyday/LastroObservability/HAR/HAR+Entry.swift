// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR {
  /// A request on the wire, and its outcome.
  public struct Entry: Codable, Sendable, Hashable {
    /// The start of the request: ISO 8601 in UTC, with milliseconds.
    public var startedDateTime: String
    /// The duration in milliseconds: the sum of ``timings``.
    public var time: Double
    /// The request, with secrets masked unless the recorder keeps them.
    public var request: Request
    /// The response; status 0 if there was none.
    public var response: Response
    /// An empty object, because this format field is not used.
    public var cache = Cache()
    /// The phases of the exchange.
    public var timings: Timings
    /// The address of the server or of a proxy, if it is known.
    public var serverIPAddress: String?
    /// The identifier of the connection.
    public var connection: String?
    /// A remark.
    public var comment: String?
    /// The value of `AttemptContext.callID`, which is shared by all exchanges of a call.
    public var call: UInt64?
    /// The number of the attempt within the call; 1 for the first.
    public var attempt: Int?
    /// The number of redirects that the attempt followed before this exchange.
    public var hop: Int?
    /// The value of `RequestOptions.operation`.
    public var operation: String?
    /// The reason for a failure; `nil` if the exchange succeeded.
    public var error: Failure?
    /// The facts about the connection.
    public var facts: Connection?

    enum CodingKeys: String, CodingKey {
      case startedDateTime, time, request, response, cache, timings, serverIPAddress, connection, comment
      case call = "_call", attempt = "_attempt", hop = "_hop", operation = "_operation", error = "_error"
      case facts = "_connection"
    }

    /// Creates an entry.
    public init(
      startedDateTime: String, time: Double, request: Request, response: Response, timings: Timings,
      serverIPAddress: String? = nil, connection: String? = nil, comment: String? = nil, call: UInt64? = nil,
      attempt: Int? = nil, hop: Int? = nil, operation: String? = nil, error: Failure? = nil, facts: Connection? = nil
    ) {
      self.startedDateTime = startedDateTime
      self.time = time
      self.request = request
      self.response = response
      self.timings = timings
      self.serverIPAddress = serverIPAddress
      self.connection = connection
      self.comment = comment
      self.call = call
      self.attempt = attempt
      self.hop = hop
      self.operation = operation
      self.error = error
      self.facts = facts
    }
  }

  /// The effect of a cache; always an empty object.
  public struct Cache: Codable, Sendable, Hashable {
    /// Creates the empty object that the format requires.
    public init() {}
  }

  /// The phases in milliseconds; -1 if a phase did not occur or is not known. ``ssl`` is part of ``connect``.
  public struct Timings: Codable, Sendable, Hashable {
    /// The wait for a connection, including the queue in front of the engine.
    public var blocked: Double?
    /// The name resolution.
    public var dns: Double?
    /// The opening of the connection, including TLS.
    public var connect: Double?
    /// The sending of the request. It is 0 with libcurl, which does not distinguish it from waiting.
    public var send: Double
    /// The wait for the first byte of the response.
    public var wait: Double
    /// The reading of the response.
    public var receive: Double
    /// The TLS handshake.
    public var ssl: Double?

    /// Creates timings; by default no phase occurred.
    public init(
      blocked: Double = -1, dns: Double = -1, connect: Double = -1, send: Double = 0, wait: Double = 0,
      receive: Double = 0, ssl: Double = -1
    ) {
      self.blocked = blocked
      self.dns = dns
      self.connect = connect
      self.send = send
      self.wait = wait
      self.receive = receive
      self.ssl = ssl
    }

    /// The sum of the phases, without those that did not occur.
    public var total: Double {
      [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1 ?? 0) }
    }
  }

  /// The reason why an exchange failed: a `TransportError`.
  public struct Failure: Codable, Sendable, Hashable {
    /// The raw value of `TransportError.stage`.
    public var stage: String
    /// The raw value of `TransportError.code`.
    public var code: String
    /// The value of `TransportError.message`.
    public var message: String
    /// The value of `TransportError.hint`.
    public var hint: String?
    /// The value of `TransportError.requestSent`.
    public var requestSent: Bool?
    /// The value of `TransportError.engineCode`.
    public var engineCode: Int32?
    /// The status of the response, if its head was received.
    public var status: Int?

    /// Creates a failure.
    public init(
      stage: String, code: String, message: String, hint: String? = nil, requestSent: Bool? = nil,
      engineCode: Int32? = nil, status: Int? = nil
    ) {
      self.stage = stage
      self.code = code
      self.message = message
      self.hint = hint
      self.requestSent = requestSent
      self.engineCode = engineCode
      self.status = status
    }
  }

  /// The facts about the connection of an exchange: `TransferFacts` without its times.
  public struct Connection: Codable, Sendable, Hashable {
    /// The value of `TransferFacts.connectionID`.
    public var id: Int64?
    /// The value of `TransferFacts.connectionReused`.
    public var reused: Bool
    /// The value of `TransferFacts.remotePort`.
    public var remotePort: Int?
    /// The raw value of `TransferFacts.trust`.
    public var trust: String?
    /// The value of `TransferFacts.resends`.
    public var resends: Int
    /// The value of `TransferFacts.bytesSent`.
    public var bytesSent: Int64
    /// The value of `TransferFacts.bytesReceived`.
    public var bytesReceived: Int64

    /// Creates a connection.
    public init(
      id: Int64? = nil, reused: Bool = false, remotePort: Int? = nil, trust: String? = nil, resends: Int = 0,
      bytesSent: Int64 = 0, bytesReceived: Int64 = 0
    ) {
      self.id = id
      self.reused = reused
      self.remotePort = remotePort
      self.trust = trust
      self.resends = resends
      self.bytesSent = bytesSent
      self.bytesReceived = bytesReceived
    }
  }
}
