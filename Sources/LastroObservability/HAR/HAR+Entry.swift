// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension HAR {
  /// One request on the wire, and what came of it.
  public struct Entry: Codable, Sendable, Hashable {
    /// When it began: ISO 8601 in UTC, with milliseconds.
    public var startedDateTime: String
    /// How long it took, in milliseconds: the sum of ``timings``.
    public var time: Double
    /// The request, with secrets masked unless the recorder keeps them.
    public var request: Request
    /// The answer; status 0 where there was none.
    public var response: Response
    /// Nothing: there is no cache.
    public var cache = Cache()
    /// The phases.
    public var timings: Timings
    /// Address of the server, or of a proxy, where it is known.
    public var serverIPAddress: String?
    /// Names the connection.
    public var connection: String?
    /// A remark.
    public var comment: String?
    /// `AttemptContext.callID`: exchanges of one call have the same.
    public var call: UInt64?
    /// Number of the attempt within the call; 1 for the first.
    public var attempt: Int?
    /// Number of redirects followed before, in the attempt.
    public var hop: Int?
    /// `RequestOptions.operation`.
    public var operation: String?
    /// Why the exchange failed; `nil` for one that succeeded.
    public var error: Failure?
    /// What is known of the connection.
    public var facts: Connection?

    enum CodingKeys: String, CodingKey {
      case startedDateTime, time, request, response, cache, timings, serverIPAddress, connection, comment
      case call = "_call", attempt = "_attempt", hop = "_hop", operation = "_operation", error = "_error"
      case facts = "_connection"
    }

    /// Makes an entry.
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

  /// What a cache did: an empty object.
  public struct Cache: Codable, Sendable, Hashable {
    /// Makes the empty object that the format demands.
    public init() {}
  }

  /// Phases in milliseconds; -1 where a phase did not happen or is not known. ``ssl`` is part of ``connect``.
  public struct Timings: Codable, Sendable, Hashable {
    /// Waiting for a connection, the queue in front of the engine included.
    public var blocked: Double?
    /// Name resolution.
    public var dns: Double?
    /// Opening the connection, TLS included.
    public var connect: Double?
    /// Sending. libcurl does not tell it from waiting: 0 then.
    public var send: Double
    /// Waiting for the first byte of the answer.
    public var wait: Double
    /// Reading the answer.
    public var receive: Double
    /// TLS.
    public var ssl: Double?

    /// Makes timings; by default none happened.
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

    /// Their sum, without those that did not happen.
    public var total: Double {
      [blocked, dns, connect, send, wait, receive].reduce(0) { $0 + max(0, $1 ?? 0) }
    }
  }

  /// Why an exchange failed: a `TransportError`.
  public struct Failure: Codable, Sendable, Hashable {
    /// `TransportError.stage`, as its word.
    public var stage: String
    /// `TransportError.code`, as its word.
    public var code: String
    /// `TransportError.message`.
    public var message: String
    /// `TransportError.hint`.
    public var hint: String?
    /// `TransportError.requestSent`.
    public var requestSent: Bool?
    /// `TransportError.engineCode`.
    public var engineCode: Int32?
    /// Status of the answer whose head had come.
    public var status: Int?

    /// Makes a failure.
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

  /// What is known of the connection of an exchange: `TransferFacts` without its times.
  public struct Connection: Codable, Sendable, Hashable {
    /// `TransferFacts.connectionID`.
    public var id: Int64?
    /// `TransferFacts.connectionReused`.
    public var reused: Bool
    /// `TransferFacts.remotePort`.
    public var remotePort: Int?
    /// `TransferFacts.trust`, as its word.
    public var trust: String?
    /// `TransferFacts.resends`.
    public var resends: Int
    /// `TransferFacts.bytesSent`.
    public var bytesSent: Int64
    /// `TransferFacts.bytesReceived`.
    public var bytesReceived: Int64

    /// Makes a connection.
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
