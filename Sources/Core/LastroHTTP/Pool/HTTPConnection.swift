// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A connection over a ``Link`` that exchanges use: one after the other, or where it speaks HTTP/2 many at a time.
///
/// Owner: ``HTTPEngine``, until it is closed. Thread: the loop's. Its link is watched for reading until it closes, so
/// that a request costs no call for it. An idle connection ends when bytes arrive on it.
final class HTTPConnection: LinkUser {
  /// Maximum plaintext of one TLS record.
  static let recordBytes = 16 * 1024
  /// A read that brings fewer is likely to have brought all there is. Servers fill records to anything above it.
  static let partBytes = 4 * 1024

  let link: any Link
  /// The link's; kept, because a property of a protocol is copied whole to read a part.
  let facts: LinkFacts
  private let isProxied: Bool
  let host: HostPool
  /// Its number in the engine.
  private(set) var number: UInt64 = 0
  /// HTTP in the version that its server picked; `nil` once it is closed.
  var session: (any ConnectionSession)?
  private(set) var exchanges = 0
  let bornAt: Int64
  private(set) var idleSince: Int64
  /// Its place among those that are idle; `nil` while it is not.
  private(set) var idleTurn: UInt64?
  /// The time that the server keeps it open without a request, if it says so (`Keep-Alive: timeout=`).
  var keepAlive: Duration?
  /// From then on it may be closed when a request arrives.
  private(set) var fitUntil = Int64.max
  /// Whether an exchange is receiving all bytes that had come, so that none is unread.
  var isReadEmpty = false
  /// Bytes that came and that no exchange has taken: the reader is slow.
  var held: [UInt8] = []
  /// The time of the last read, and whether reading continues.
  var readAt: Int64 = 0
  var readsOn = false
  private var watches = (read: true, write: false)
  private(set) var isClosed = false
  private let teller: ConnectionTeller?

  init(_ link: any Link, host: HostPool, now: Int64) {
    self.link = link
    self.host = host
    facts = link.facts
    isProxied = facts.isProxied || host.route.proxy != nil
    held = facts.early
    bornAt = now
    idleSince = now
    teller = ConnectionTeller(host.engine.settings.connectionObserver, of: host, now: now)
    number = host.engine.register(self)
    link.attach(self)
  }

  deinit { if !isClosed { link.close() } }

  var isReused: Bool { exchanges > 1 }

  /// An exchange has it.
  func beganExchange() {
    exchanges += 1
    noteActive()
  }

  /// It has served an exchange. A request takes a while to arrive, so that the server's last second does not count; of
  /// a short time, half.
  func noteFree(now: Int64) {
    guard let keepAlive else { return fitUntil = .max }
    fitUntil = now.adding(max(keepAlive - .seconds(1), keepAlive / 2))
  }

  /// A request uses it.
  func noteActive() { teller?.tell(.active, now: host.engine.now) }

  /// No request uses it from here on.
  func noteIdle(turn: UInt64, now: Int64) {
    teller?.tell(.idle, now: now)
    idleTurn = turn
    idleSince = now
  }

  /// Whether it was idle until now.
  func noteBusy() -> Bool { idleTurn.take() != nil }

  /// Its time is over: it is to be closed as one that no request uses.
  func retireIdle() { session?.retireIdle() }

  /// Closes it, in order where that takes words.
  func end() {
    if let session { session.end() } else { close() }
  }

  // MARK: Trust

  /// Decides whether a request may go out on it: the one place that every request passes before its first byte is sent.
  ///
  /// - Parameter job: whose request it is, where it alone knows its host: to a proxy requests for many go.
  func admit(_ job: EngineJob? = nil) -> LinkAdmission {
    guard let target = job.map(host.target) ?? host.target else { return .refused(.unreadableHost) }
    return link.admit(target)
  }

  // MARK: Bytes

  /// Reads what there is, once.
  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep { link.receive(into: space) }

  /// Writes as much as the peer takes now.
  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep { isClosed ? .wait : link.send(bytes) }

  /// Returns whether bytes have come that no exchange asked for, or the end.
  ///
  /// - Parameter isHeard: whether readiness would have been reported by now.
  func hasUnsolicitedInput(isHeard: Bool) -> Bool {
    !held.isEmpty || host.engine.context.withScratch { link.hasUnsolicitedInput($0, isHeard: isHeard) }
  }

  /// Whether readiness would have been reported if something had come since it fell idle (``LoopContext/hasLooked``).
  /// What was read empty in this very turn may have its end behind the bytes.
  var isHeard: Bool { idleSince < host.engine.now && host.engine.context.hasLooked }

  // MARK: Delivery

  /// Returns how far bytes have come; `nil` where that is not known.
  func delivery(now: Int64) -> LinkDelivery? { isClosed ? nil : link.delivery(now: now) }

  /// The same where that is a sign of life of the peer: a proxy acknowledges bytes whatever has become of the server.
  func peerDelivery(now: Int64) -> LinkDelivery? {
    isProxied ? nil : delivery(now: now)
  }

  /// The number of sent bytes that the peer has not acknowledged; 0 where that is not known.
  var unacknowledgedBytes: Int { Int(clamping: delivery(now: host.engine.now)?.queued ?? 0) }

  // MARK: Readiness

  func ready(readable: Bool, writable: Bool) { session?.ready(readable: readable, writable: writable) }

  func read() { session?.read() }

  func noteReading() { readAt = host.engine.now }

  /// Continues to read in the next turn, where no readiness may be reported of unread bytes.
  func readOn() {
    guard !isClosed, link.hidesInput, !readsOn else { return }
    readsOn = true
    host.engine.noteEvent { [weak self] in
      guard let self else { return }
      readsOn = false
      if readAt == host.engine.now { return readOn() }
      read()
    }
  }

  /// Hears of the link for reading, or for writing, or both.
  func watch(read: Bool, write: Bool) {
    guard !isClosed, watches != (read, write) else { return }
    watches = (read, write)
    link.watch(read: read, write: write)
  }

  func close() {
    guard !isClosed else { return }
    noteClosed()
    link.close()
  }

  /// Ends HTTP on it; `nil` while its link is not ready for that.
  func handOver(early: [UInt8]) -> (any ByteStream)? {
    guard !isClosed, let stream = link.handOver(early: early) else { return nil }
    noteClosed()
    return stream
  }

  private func noteClosed() {
    isClosed = true
    teller?.tell(nil, now: host.engine.now)
    session = nil
    host.engine.unregister(self)
  }
}

/// HTTP on a connection.
protocol ConnectionSession: AnyObject {
  /// The link is ready.
  func ready(readable: Bool, writable: Bool)

  /// Reads what there is, within the connection's share of a turn.
  func read()

  /// Reports that the connection, which no request uses, is to end.
  func retireIdle()

  /// Closes the connection, in order where that takes words.
  func end()
}
