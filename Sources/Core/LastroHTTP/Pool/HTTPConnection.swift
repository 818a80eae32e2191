// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// A connection over a ``Link`` that carries exchanges: one at a time over HTTP/1.1, and many at a time over HTTP/2.
///
/// Owner: ``HTTPEngine``, until the connection is closed. Thread: the loop's. The link is watched for reading until it
/// closes, so that a request costs no system call for that. An idle HTTP/1.1 connection is closed when bytes arrive on
/// it.
final class HTTPConnection: LinkUser {
  /// The maximum plaintext of one TLS record.
  static let recordBytes = 16 * 1024
  /// A read that returns fewer bytes has probably emptied the socket. Servers fill TLS records with any number of bytes
  /// above this.
  static let partBytes = 4 * 1024

  let link: any Link
  /// The facts of the link, stored because reading one of them through the protocol would copy them all.
  let facts: LinkFacts
  private let isProxied: Bool
  let host: HostPool
  /// The connection's number in the engine.
  private(set) var number: UInt64 = 0
  /// The session of the HTTP version that the server chose; `nil` once the connection is closed.
  var session: (any ConnectionSession)?
  private(set) var exchanges: Int
  let bornAt: Int64
  private(set) var idleSince: Int64
  /// The connection's turn in the queue of idle connections; `nil` while it is not idle.
  private(set) var idleTurn: Int64?
  /// The time for which the server keeps an idle connection open, if it announces that (`Keep-Alive: timeout=`).
  var keepAlive: Duration?
  /// The time from which on the server may have closed the connection before a request arrives.
  private var fitUntil = Int64.max
  /// Whether an exchange is processing all the bytes that had arrived, so that the link has no unread ones.
  var isReadEmpty = false
  /// Received bytes that no exchange has taken yet, because the reader is slow.
  var held: [UInt8] = []
  /// The time of the last read. `readsOn`: whether another read is scheduled for the next turn.
  var readAt: Int64 = 0
  var readsOn = false
  private var watches = (read: true, write: false)
  private(set) var isClosed = false
  /// The state that was reported to the observer last; `nil` before the first report, and without an observer.
  private var reported: ConnectionChange.State?

  init(_ link: any Link, host: HostPool, now: Int64) {
    self.link = link
    self.host = host
    facts = link.facts
    isProxied = facts.isProxied || host.route.proxy != nil
    held = facts.early
    exchanges = facts.earlierExchanges
    bornAt = now
    idleSince = now
    // The engine holds the connection until it is closed.
    number = host.engine.register(self)
    report(.active, now: now)
    link.attach(self)
  }

  var isReused: Bool { exchanges > 1 }

  /// Records that an exchange has begun on the connection, and tells the observer.
  func beganExchange() {
    exchanges += 1
    report(.active, now: host.engine.now)
  }

  /// Records that an exchange that began has sent nothing, and left.
  func forgetExchange() { exchanges -= 1 }

  /// Records that the connection is free, and until when it may be reused: until one second before the server's
  /// keep-alive timeout, because a request takes time to arrive, or for half of a timeout below two seconds.
  func becameFree(now: Int64) {
    guard let keepAlive else { return fitUntil = .max }
    fitUntil = now.adding(max(keepAlive - .seconds(1), keepAlive / 2))
  }

  /// Records that the connection is idle from here on.
  func becameIdle(turn: Int64, now: Int64) {
    report(.idle, now: now)
    idleTurn = turn
    idleSince = now
  }

  /// Records that the connection is no longer idle, and returns whether it was.
  func becameBusy() -> Bool { idleTurn.take() != nil }

  /// Closes the connection. Over HTTP/2, the session first ends it in order.
  func closeInOrder() {
    if let session { session.close() } else { close() }
  }

  /// Reports a change of state to the observer, if there is one and the route has an origin.
  private func report(_ state: ConnectionChange.State?, now: Int64) {
    guard state != reported, let observer = host.engine.settings.connectionObserver, let origin = host.route.origin
    else { return }
    var change = ConnectionChange(origin: origin, from: reported, to: state, age: .nanoseconds(now - bornAt))
    change.clientCertificateValidity = facts.clientCertificateEnd.map { .seconds($0.timeIntervalSinceNow) }
    observer(change)
    reported = state
  }

  // MARK: Fitness

  /// Whether the connection may begin another request, as far as its age and the server's keep-alive timeout tell.
  var isInTime: Bool {
    let engine = host.engine
    let end = min(fitUntil, bornAt.adding(nanoseconds: engine.connectionLifetime))
    return !isClosed && engine.now < end
  }

  /// Checks that a new connection has not ended since it was dialed, and that its server has sent nothing before a
  /// request.
  ///
  /// - Throws: the reason why no request can be sent.
  func checkSilence() throws(TransportError) {
    switch link.receive(into: host.engine.context.scratch) {
    case .wait: return
    case .moved: throw .spokenFirst
    case .end: throw .goneBeforeSending
    case .failed: throw reasonOfEarlyEnd
    }
  }

  /// The reason why the connection has ended before a request was sent on it. An alert tells it, such as a missing client
  /// certificate, better than the end of the connection.
  var reasonOfEarlyEnd: TransportError {
    guard var error = link.failure, error.stage != .response else { return .goneBeforeSending }
    error.requestSent = false
    return error
  }

  /// Whether the connection, whose request has just ended, can carry another one. Bytes after the response cannot be
  /// the response to the next request.
  ///
  /// - Parameter isWanted: whether a request is waiting for the connection. Unrequested bytes are looked for only then.
  func isFit(isWanted: Bool) -> Bool {
    isInTime && (isReadEmpty || !isWanted || !hasUnsolicitedInput(isHeard: false))
  }

  /// Whether the connection, which was idle until now, can carry a request.
  ///
  /// Admission refuses an outdated link, too, but that costs the request one of its restarts. A host with many outdated
  /// idle connections would use up all of them.
  var isFitAfterIdling: Bool { isInTime && link.isCurrent && !hasUnsolicitedInput(isHeard: isHeard) }

  // MARK: Trust

  /// Decides whether a request may be sent on the connection. Every request passes this check before its first byte is
  /// sent.
  ///
  /// - Parameter job: the job whose target is checked; `nil` for the target of the host. A job is needed on a
  ///   connection to a proxy, which carries requests for many hosts.
  func admit(_ job: EngineJob? = nil) -> LinkAdmission {
    guard let target = job.map(host.target) ?? host.target else { return .refused(.unreadableHost) }
    return link.admit(target)
  }

  // MARK: Bytes

  /// Writes as many bytes as the link accepts now. A closed connection returns `.wait`.
  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep { isClosed ? .wait : link.send(bytes) }

  /// Returns whether unrequested bytes, or the end of the connection, have arrived.
  ///
  /// - Parameter isHeard: whether the loop would have reported readiness by now.
  func hasUnsolicitedInput(isHeard: Bool) -> Bool {
    !held.isEmpty || link.hasUnsolicitedInput(host.engine.context.scratch, isHeard: isHeard)
  }

  /// Whether the loop would have reported readiness for bytes that arrived since the connection became idle
  /// (``LoopContext/hasLooked``). A connection that was emptied in this same turn may already have its end waiting
  /// behind the bytes.
  var isHeard: Bool { idleSince < host.engine.now && host.engine.context.hasLooked }

  // MARK: Delivery

  /// Returns how far the sent bytes have been delivered; `nil` if that is not known.
  func delivery(now: Int64) -> LinkDelivery? { isClosed ? nil : link.delivery(now: now) }

  /// Returns the delivery as a sign of life of the server; `nil` through a proxy, which acknowledges bytes even if the
  /// server is gone.
  func peerDelivery(now: Int64) -> LinkDelivery? {
    isProxied ? nil : delivery(now: now)
  }

  /// The number of sent bytes that the peer has not acknowledged; 0 if that is not known.
  var unacknowledgedBytes: Int { Int(clamping: delivery(now: host.engine.now)?.queued ?? 0) }

  // MARK: Readiness

  func ready(readable: Bool, writable: Bool) { session?.ready(readable: readable, writable: writable) }

  func read() { session?.read() }

  func beganReading() { readAt = host.engine.now }

  /// Reads again in the next turn, if the link may hold unread bytes for which no readiness is reported.
  func readOn() {
    guard !isClosed, link.hidesInput, !readsOn else { return }
    readsOn = true
    host.engine.context.performInNextTurn { [weak self] in
      guard let self else { return }
      readsOn = false
      if readAt == host.engine.now { return readOn() }
      read()
    }
  }

  /// Sets which kinds of readiness the link reports.
  func watch(read: Bool, write: Bool) {
    guard !isClosed, watches != (read, write) else { return }
    watches = (read, write)
    link.watch(read: read, write: write)
  }

  func close() {
    guard !isClosed else { return }
    markClosed()
    link.close()
  }

  /// Ends HTTP on the connection, and returns its link as a stream; `nil` if the connection is closed, or if the link
  /// cannot be handed over yet.
  func handOver(early: [UInt8]) -> (any ByteStream)? {
    guard !isClosed, let stream = link.handOver(early: early) else { return nil }
    markClosed()
    return stream
  }

  private func markClosed() {
    isClosed = true
    report(nil, now: host.engine.now)
    session = nil
    host.engine.unregister(self)
  }
}

/// An HTTP session on a connection.
protocol ConnectionSession: AnyObject {
  /// Handles readiness of the link.
  func ready(readable: Bool, writable: Bool)

  /// Reads the bytes that have arrived, within the connection's share of a turn.
  func read()

  /// Has the host use the connection no more. Over HTTP/1.1 an idle connection is closed, and a busy one is left as it
  /// is. Over HTTP/2 the connection is closed with its last stream.
  func retire()

  /// Closes the connection, in the way that the protocol prescribes.
  func close()
}
