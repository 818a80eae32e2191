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

  /// Times since the transfer was begun, each the end of its phase; `nil` for a phase that did not happen. libcurl
  /// measures dials, and Lastro the rest.
  public struct Timings: Sendable, Hashable {
    /// Name resolution done (`CURLINFO_NAMELOOKUP_TIME_T`).
    public var nameLookup: Duration?
    /// TCP connection, or the proxy's, established (`CURLINFO_CONNECT_TIME_T`).
    public var connect: Duration?
    /// TLS established (`CURLINFO_APPCONNECT_TIME_T`).
    public var tls: Duration?
    /// The request is about to be sent.
    public var requestStart: Duration?
    /// First byte of the response.
    public var firstByte: Duration?
    /// The whole transfer.
    public var total: Duration
    /// Waiting in the queue in front of the engine; not part of the others.
    public var queued: Duration

    /// Makes timings; all phases absent.
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

  /// `"1.0"`, `"1.1"` or `"2"`; `nil` until the response's head arrived.
  public var httpVersion: String? {
    get { parts.value.httpVersion }
    _modify { yield &parts.value.httpVersion }
  }
  /// Address that the connection leads to (the proxy's, where there is one), or the path of its Unix socket;
  /// `nil` before it is connected.
  public var remoteAddress: String? {
    get { parts.value.remoteAddress }
    _modify { yield &parts.value.remoteAddress }
  }
  /// Port at that address.
  public var remotePort: Int? {
    get { parts.value.remotePort }
    _modify { yield &parts.value.remotePort }
  }
  /// Names the connection among the live ones of its engine: its local port. `nil` when there was none, and over a
  /// Unix socket.
  public var connectionID: Int64? {
    get { parts.value.connectionID }
    _modify { yield &parts.value.connectionID }
  }
  /// Whether the connection had served a transfer before.
  public var connectionReused: Bool {
    get { parts.value.connectionReused }
    _modify { yield &parts.value.connectionReused }
  }
  /// Bytes of request head and body written.
  public var bytesSent: Int64 {
    get { parts.value.bytesSent }
    _modify { yield &parts.value.bytesSent }
  }
  /// Bytes of the response body as they came over the wire, before decompression.
  public var bytesReceived: Int64 {
    get { parts.value.bytesReceived }
    _modify { yield &parts.value.bytesReceived }
  }
  /// The number of resends by the engine; the guide <doc:Retrying> explains when it resends.
  public var resends: Int {
    get { parts.value.resends }
    _modify { yield &parts.value.resends }
  }
  /// The verdict on the server's identity; `nil` before there was a connection.
  public var trust: TrustVerdict? {
    get { parts.value.trust }
    _modify { yield &parts.value.trust }
  }
  /// Times of the phases.
  public var timings: Timings {
    get { parts.value.timings }
    _modify { yield &parts.value.timings }
  }
  /// The reason why the body of a response outside 200–299 is incomplete; `nil` if it is complete as far as is known.
  public var bodyCut: BodyCut? {
    get { parts.value.bodyCut }
    _modify { yield &parts.value.bodyCut }
  }

  /// Fields behind the body (RFC 9110 §6.5), which are not merged into the head; those that mean something in a head
  /// only are left out. Empty until the body has ended.
  public var trailers: HTTPFields {
    get { parts.value.trailers }
    _modify { yield &parts.value.trailers }
  }

  /// Notes of the layers around the transport, such as waits for a pace. Default none.
  public var notes: [Note] {
    get { parts.value.notes }
    _modify { yield &parts.value.notes }
  }

  /// Makes facts; everything unknown by default.
  public init(
    httpVersion: String? = nil, remoteAddress: String? = nil, remotePort: Int? = nil,
    connectionID: Int64? = nil, connectionReused: Bool = false,
    bytesSent: Int64 = 0, bytesReceived: Int64 = 0, resends: Int = 0, trust: TrustVerdict? = nil,
    timings: Timings = Timings(), bodyCut: BodyCut? = nil, trailers: HTTPFields = [:], notes: [Note] = []
  ) {
    parts = CopyOnWrite(
      Parts(
        httpVersion: httpVersion, remoteAddress: remoteAddress, remotePort: remotePort, connectionID: connectionID,
        connectionReused: connectionReused, bytesSent: bytesSent, bytesReceived: bytesReceived, resends: resends,
        trust: trust, timings: timings, bodyCut: bodyCut, trailers: trailers, notes: notes))
  }
}

extension TransferFacts {
  /// Goes on from the facts of the head to those of the whole transfer, where there are any. Layers note what they did
  /// at the head.
  mutating func complete(by whole: TransferFacts?) {
    guard var whole else { return }
    if whole.notes.isEmpty { whole.notes = notes }
    self = whole
  }
}

extension TransferFacts: CustomReflectable {
  /// Its properties.
  public var customMirror: Mirror {
    Mirror(self, children: Mirror(reflecting: parts.value).children, displayStyle: .struct)
  }
}
