// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// The facts of one transfer on the wire: protocol, connection, bytes and timings.
public struct TransferFacts: Sendable, Hashable {
  private struct Parts: Sendable, Hashable {
    var httpVersion: String?
    var remoteAddress: String?
    var remotePort: Int?
    var connectionID: Int64?
    var connectionReused: Bool
    var bytesSent: Int64
    var bytesReceived: Int64
    var resends: Int
    var trust: TrustVerdict?
    var timings: Timings
    var bodyCut: BodyCut?
    var trailers: HTTPFields
    var notes: [Note]
  }

  private var parts: CopyOnWrite<Parts>

  /// The times since the start of the transfer, each at the end of its phase; `nil` for a phase that did not occur.
  /// libcurl measures dials, and Lastro the rest.
  public struct Timings: Sendable, Hashable {
    /// The end of name resolution (`CURLINFO_NAMELOOKUP_TIME_T`).
    public var nameLookup: Duration?
    /// The time when the TCP connection, or the proxy's, was established (`CURLINFO_CONNECT_TIME_T`).
    public var connect: Duration?
    /// The time when TLS was established (`CURLINFO_APPCONNECT_TIME_T`).
    public var tls: Duration?
    /// The time immediately before the request is sent.
    public var requestStart: Duration?
    /// The time when the first byte of the response arrived.
    public var firstByte: Duration?
    /// The duration of the whole transfer.
    public var total: Duration
    /// The time in the queue before the engine. It is not part of the other times.
    public var queued: Duration

    /// Makes timings. By default all phases are absent.
    public init(
      nameLookup: Duration? = nil, connect: Duration? = nil, tls: Duration? = nil,
      requestStart: Duration? = nil, firstByte: Duration? = nil, total: Duration = .zero, queued: Duration = .zero
    ) {
      self.nameLookup = nameLookup
      self.connect = connect
      self.tls = tls
      self.requestStart = requestStart
      self.firstByte = firstByte
      self.total = total
      self.queued = queued
    }
  }

  /// The HTTP version: `"1.0"`, `"1.1"` or `"2"`; `nil` until the response's head arrived.
  public var httpVersion: String? { parts.value.httpVersion }
  /// The address that the connection was made to (the proxy's, if there is one), or the path of its Unix socket; `nil`
  /// before it is connected.
  public var remoteAddress: String? { parts.value.remoteAddress }
  /// The port at that address.
  public var remotePort: Int? { parts.value.remotePort }
  /// The connection's identifier among the live connections of its engine: its local port. `nil` if there was no
  /// connection, and for a Unix socket.
  public var connectionID: Int64? { parts.value.connectionID }
  /// Whether the connection had served a transfer before.
  public var connectionReused: Bool { parts.value.connectionReused }
  /// The number of bytes of request head and body written.
  public var bytesSent: Int64 { parts.value.bytesSent }
  /// The number of bytes of the response body received, before decompression.
  public var bytesReceived: Int64 { parts.value.bytesReceived }
  /// The number of resends by the engine; the guide <doc:Retrying> explains when it resends.
  public var resends: Int { parts.value.resends }
  /// The verdict on the server's identity; `nil` before there was a connection.
  public var trust: TrustVerdict? { parts.value.trust }
  /// The times of the phases.
  public var timings: Timings { parts.value.timings }
  /// The reason why the body of a response outside 200–299 is incomplete; `nil` if it is complete as far as is known.
  package var bodyCut: BodyCut? {
    get { parts.value.bodyCut }
    _modify { yield &parts.value.bodyCut }
  }

  /// The fields after the body (RFC 9110 §6.5). They are not merged into the head, and those that are only allowed in a
  /// head are dropped. Empty until the body has ended.
  public var trailers: HTTPFields { parts.value.trailers }

  /// The notes of the layers around the transport, such as delays of a rate limit. Default none.
  public var notes: [Note] {
    get { parts.value.notes }
    _modify { yield &parts.value.notes }
  }

  /// Makes facts. By default everything is unknown.
  public init(
    httpVersion: String? = nil, remoteAddress: String? = nil, remotePort: Int? = nil,
    connectionID: Int64? = nil, connectionReused: Bool = false,
    bytesSent: Int64 = 0, bytesReceived: Int64 = 0, resends: Int = 0, trust: TrustVerdict? = nil,
    timings: Timings = Timings(), trailers: HTTPFields = [:], notes: [Note] = []
  ) {
    parts = CopyOnWrite(
      Parts(
        httpVersion: httpVersion, remoteAddress: remoteAddress, remotePort: remotePort, connectionID: connectionID,
        connectionReused: connectionReused, bytesSent: bytesSent, bytesReceived: bytesReceived, resends: resends,
        trust: trust, timings: timings, trailers: trailers, notes: notes))
  }
}

extension TransferFacts {
  /// Replaces the facts of the head by those of the whole transfer, if there are any. The notes of the head are kept if
  /// the whole transfer has none.
  mutating func complete(by whole: TransferFacts?) {
    guard var whole else { return }
    if whole.notes.isEmpty { whole.notes = notes }
    self = whole
  }

  /// Returns the facts with notes on making the request, which precede those of the transfer.
  func noting(_ earlier: [Note]) -> Self {
    guard !earlier.isEmpty else { return self }
    var facts = self
    facts.notes = earlier + notes
    return facts
  }
}

extension TransferFacts: CustomReflectable {
  /// The facts as a mirror's children.
  public var customMirror: Mirror {
    Mirror(self, children: Mirror(reflecting: parts.value).children, displayStyle: .struct)
  }
}

extension TransferFacts {
  /// Whether a cache responded without sending a request of this transfer. In the cache's note, `fwd` gives the reason
  /// for a request to the server, and `collapsed` means that the request was sent for another transfer (RFC 9211 §2).
  package var isFromCache: Bool {
    notes.contains { $0.name == "cache" && (!$0.text.contains("fwd=") || $0.text.contains("; collapsed")) }
  }

  /// A note of a layer around the transport about its effect on a transfer. The ledger includes it in the line of the
  /// attempt.
  public struct Note: Sendable, Hashable {
    /// The effect as a stable identifier with few distinct values, such as `paced`.
    public let name: String
    /// A further identifier of this kind, such as the new state of a circuit. Default: empty.
    public let detail: String
    /// The text for people, without secrets. Default: empty; the ledger's description then omits the note.
    public let text: String
    /// The time that the transfer waited for the layer, if it did.
    public let wait: Duration?
    /// The number of concurrent transfers and its limit, if the layer limits them.
    package let bound: Bound?

    /// A limit on concurrent transfers, and the number in use.
    package struct Bound: Sendable, Hashable {
      /// The number of concurrent transfers.
      package let inUse: Int
      /// The maximum number of concurrent transfers.
      package let limit: Int

      /// Makes a bound.
      package init(inUse: Int, limit: Int) { (self.inUse, self.limit) = (inUse, limit) }
    }

    /// Makes a note.
    package init(_ name: String, detail: String = "", text: String = "", wait: Duration? = nil, bound: Bound? = nil) {
      (self.name, self.detail, self.text, self.wait, self.bound) = (name, detail, text, wait, bound)
    }

    /// The note in the JSON of a ledger. Times are in seconds, with names that end in `_s`; unknown values are omitted.
    struct Record: Encodable {
      private enum CodingKeys: String, CodingKey {
        case name, detail, text, wait = "wait_s", inUse = "in_use", limit
      }

      private let name: String
      private let detail: String?
      private let text: String?
      private let wait: Double?
      private let inUse: Int?
      private let limit: Int?

      init(_ note: Note) {
        name = note.name
        detail = note.detail.isEmpty ? nil : note.detail
        text = note.text.isEmpty ? nil : note.text
        wait = note.wait?.inRoundedSeconds
        (inUse, limit) = (note.bound?.inUse, note.bound?.limit)
      }
    }
  }
}
