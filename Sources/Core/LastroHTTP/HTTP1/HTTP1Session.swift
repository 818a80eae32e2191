// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// HTTP/1.1 on one connection, which runs one exchange after the other: an ``HTTP1Exchange`` decides, and this moves
/// the bytes.
///
/// Owner: its ``HTTPConnection``. Thread: the loop's.
final class HTTP1Session: ExchangeRunner, ConnectionSession {
  /// The most memory that a free connection keeps for the next head.
  private static let keptBytes = 4 * 1024

  let connection: HTTPConnection
  /// `nil` while the connection is free.
  private(set) var exchange: Exchange?
  // Unchecked because the loop's thread alone touches it and the machine calls nothing of ours; what is checked is
  // copied, too, wherever a part of it is looked at.
  @exclusivity(unchecked) var machine = HTTP1Exchange(.none)
  /// The bytes to send next, from ``written`` on.
  // Unchecked because sending and filling call nothing that comes back here.
  @exclusivity(unchecked) var outgoing: [UInt8] = []
  var written = 0
  /// Whether bytes of the request have gone out.
  var hasSent = false
  /// Bytes of the body that go out behind that, as they are.
  // Unchecked for the same reason.
  @exclusivity(unchecked) var part = Data()
  var hasOutgoing: Bool { written < outgoing.count || !part.isEmpty }
  /// Whether it continues when the link takes bytes: some are left, or its share of the turn was used up.
  var wantsToWrite = false
  /// Whether `Expect` was our own idea.
  private(set) var addsExpect = false
  /// Whether nothing more is read from the connection.
  private(set) var hasEnded = false
  /// Whether the last read brought as much as there was room for.
  var isBulk = false
  /// Bytes behind a head that ended HTTP.
  private(set) var early: [UInt8]?
  /// The time at which the machine's timer fires.
  var timer: HTTP1Exchange.Timer?
  var timerAt = Int64.max
  /// Bytes that the peer had not acknowledged when the rest of the request was looked at last.
  var restUnacknowledged = 0

  init(_ connection: HTTPConnection) { self.connection = connection }

  // MARK: Beginning

  /// Sends the request of an exchange, if that may be.
  func start(_ exchange: Exchange) -> Exchange.Start {
    exchange.wasActive()
    switch connection.admit(exchange.job) {
    case .outdated: return .outdated
    case .refused(let error): return .failed(error)
    case .admitted(let verdict): exchange.wasAdmitted(verdict)
    }
    do throws(TransportError) { try write(exchange) } catch { return .failed(error) }
    connection.beganExchange()
    self.exchange = exchange
    exchange.run(by: self, isOnReused: connection.isReused)
    machine.started()
    exchange.headWasSent()
    joinBody(of: exchange)
    pump(exchange)
    return .running
  }

  /// Writes the head, and begins with a machine for the request.
  private func write(_ exchange: Exchange) throws(TransportError) {
    reset()
    let host = exchange.host, job = exchange.job
    let request = try host.engine.write(job, to: host, into: &outgoing)
    addsExpect = request.addsExpect
    machine = HTTP1Exchange(
      request.framing, to: job.asks, expectsContinue: request.expectsContinue, asksToClose: request.asksToClose,
      limits: host.engine.settings.messages.limits, resembling: host.heads.latest)
  }

  private func reset() {
    written = 0
    hasSent = false
    if !part.isEmpty { part = Data() }
    wantsToWrite = false
    hasEnded = false
    early = nil
    timer = nil
    timerAt = .max
    restUnacknowledged = 0
  }

  func ready(readable: Bool, writable: Bool) {
    guard exchange != nil else { return stirred() }
    if writable { self.writable() }
    if readable { read() }
  }

  /// Something came while no exchange has the connection, be it its end.
  private func stirred() {
    if connection.hasUnsolicitedInput(isHeard: false) { connection.host.closeIdle(connection) }
  }

  func retireIdle() { connection.host.closeIdle(connection) }

  /// Whether the connection, which was idle until now, may carry a request.
  ///
  /// Admission refuses an outdated link too, but that costs the request one of its restarts: a host with many outdated
  /// idle connections would use them up.
  var isFit: Bool {
    let engine = connection.host.engine
    return !engine.isTooOld(connection) && engine.now < connection.fitUntil && connection.link.isCurrent
      && !connection.hasUnsolicitedInput(isHeard: connection.isHeard)
  }

  func end() { connection.close() }

  // MARK: The end

  /// The peer has ended its direction.
  func connectionEnded(cleanly: Bool) {
    guard let exchange else { return }
    do throws(HTTP1Failure) {
      _ = try machine.connectionEnded(cleanly: cleanly)
    } catch {
      return fail(exchange, error)
    }
    if machine.reading == .complete { endedWhole(exchange) }
  }

  /// The connection has ended behind a whole response: it carries no other, and there is nothing more to hear of it.
  private func endedWhole(_ exchange: Exchange) {
    hasEnded = true
    connection.watch(read: false, write: false)
    if !exchange.awaitsUpload { endResponse(of: exchange) }
  }

  /// Reading has failed.
  func receivingFailed(_ error: TransportError) {
    guard let exchange else { return }
    if machine.reading == .waiting, exchange.host.sendAgain(exchange) { return }
    guard error.code == .receiveFailed || machine.reading == .complete else { return exchange.fail(error) }
    do throws(HTTP1Failure) {
      _ = try machine.connectionEnded(cleanly: false)
      if machine.reading == .complete { endedWhole(exchange) } else { exchange.fail(error) }
    } catch let failure {
      var lost = transportError(failure, of: exchange, isReset: true)
      lost.systemCode = error.systemCode
      exchange.fail(lost)
    }
  }

  /// The response is complete.
  func endResponse(of exchange: Exchange) {
    // The machine would be copied to be asked.
    if exchange.receiver.framing.isChunked, !machine.trailers.isEmpty { exchange.received(trailers: machine.trailers) }
    do throws(TransportError) {
      try exchange.endBody()
    } catch {
      return exchange.fail(error)
    }
    if machine.connection == .inUse, machine.writing == .body || machine.writing == .flushing { return }
    exchange.finish()
  }

  func fail(_ exchange: Exchange, _ failure: HTTP1Failure) {
    if failure.kind == .lostBeforeFirstByte, exchange.host.sendAgain(exchange) { return }
    exchange.fail(exchange.receiver.failure ?? transportError(failure, of: exchange))
  }

  func leave(_ failure: TransportError?) {
    guard let exchange else { return }
    let host = exchange.host
    let mayServeOthers =
      machine.connection == .reusable && !hasEnded && (failure == nil || exchange.receiver.response != nil)
    detach()
    if mayServeOthers { host.release(connection) } else { host.lose(connection) }
  }

  func detach() {
    exchange = nil
    if outgoing.capacity > Self.keptBytes { outgoing = [] }
  }

  // MARK: The end of HTTP

  /// Whether the response ended HTTP on the connection: what comes is the caller's.
  var isTunnel: Bool { early != nil }

  /// HTTP has ended on the connection (101, or 2xx to CONNECT).
  ///
  /// - Parameter bytes: what came behind the head.
  func becomeTunnel(_ exchange: Exchange, with bytes: UnsafeRawBufferPointer) {
    let asks = exchange.job.asks
    if asks != .upgrade, asks != .connect { return exchange.host.conclude(exchange, .unexpectedTunnel) }
    early = Array(bytes)
    connection.watch(read: false, write: true)
    handOver(exchange)
  }

  /// Gives the link to the caller, as soon as no write is under way on it.
  func handOver(_ exchange: Exchange) {
    guard let early, let stream = connection.handOver(early: early) else { return }
    exchange.host.handedOver(exchange, stream)
  }
}

extension HTTP1Session {
  /// Returns a failure of the machine as the caller sees it.
  ///
  /// - Parameter isReset: whether the connection was reset, instead of ended.
  func transportError(_ failure: HTTP1Failure, of exchange: Exchange, isReset: Bool = false) -> TransportError {
    var error: TransportError
    switch failure.kind {
    case .lostBeforeFirstByte where connection.isReused && exchange.requestSent: error = .closedAfterSending
    case .lostBeforeFirstByte, .lostInHead:
      error = isReset ? .resetBeforeAnswer : failure.transportError()
    case .truncated: error = isReset ? .resetInBody : failure.transportError()
    case .answer, .body, .source: error = failure.transportError()
    }
    error.requestSent = exchange.requestSent
    return error
  }
}

/// The timers of the machine.
extension HTTP1Session {
  var isAlone: Bool { true }
  var handedOutAt: Int64 { .min }

  var nextLook: Int64 {
    if case .drained? = exchange?.rest { return .max }
    return timerAt
  }

  /// The machine's timer. The machine is asked only in states that may have one, because asking copies it.
  private var runningTimer: HTTP1Exchange.Timer? {
    switch machine.writing {
    case .head, .sent, .stopped: nil
    case .body: machine.reading == .complete ? .grace : nil
    case .awaitContinue, .broken, .flushing: machine.timer
    }
  }

  func noteTimer(of exchange: Exchange) {
    let running = runningTimer
    guard running != timer else { return }
    timer = running
    timerAt = running.map { exchange.now.adding($0.duration(within: exchange.job.request.deadline)) } ?? .max
    exchange.engine.noteExpiry(of: exchange)
  }

  func look(now: Int64) -> Bool {
    guard let exchange, let timer, now >= timerAt, now < exchange.job.expiresAt else { return false }
    if timer == .grace, machine.reading == .complete, let later = restGoesOn(exchange, now) {
      timerAt = later
      exchange.engine.noteExpiry(of: exchange)
      return true
    }
    self.timer = nil
    timerAt = .max
    do throws(HTTP1Failure) {
      try machine.timerFired()
    } catch {
      fail(exchange, error)
      return true
    }
    if timer == .drain || machine.connection != .inUse { exchange.finish() } else { pump(exchange) }
    return true
  }

  /// Returns when to look again at the rest of a request whose response is complete; `nil` once the server has taken
  /// nothing of it for a second. On a slow line the socket may take nothing for longer while the server does.
  private func restGoesOn(_ exchange: Exchange, _ now: Int64) -> Int64? {
    let grace = HTTP1Exchange.Timer.grace.duration(within: exchange.job.request.deadline)
    if exchange.sendingPaused, !hasOutgoing { return now.adding(grace) }
    let end = exchange.lastActivity.adding(grace)
    if end > now { return end }
    let unacknowledged = connection.unacknowledgedBytes
    if unacknowledged == restUnacknowledged { return nil }
    restUnacknowledged = unacknowledged
    return now.adding(grace)
  }

  func limitPassed(now: Int64) {}
}
