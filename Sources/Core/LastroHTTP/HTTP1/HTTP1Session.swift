// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// HTTP/1.1 on one connection, which runs one exchange after the other. An ``HTTP1Exchange`` makes the decisions, and
/// the session moves the bytes.
///
/// Owner: its ``HTTPConnection``. Thread: the loop's.
final class HTTP1Session: ExchangeRunner, ConnectionSession {
  /// The maximum memory that a free connection keeps for the next head.
  private static let keptBytes = 4 * 1024

  let connection: HTTPConnection
  /// The current exchange; `nil` while the connection is free.
  private(set) var exchange: Exchange?
  // Unchecked because only the loop's thread uses the machine, and the machine does not call back into the session. A
  // checked property would also be copied whenever a part of it is read.
  @exclusivity(unchecked) var machine = HTTP1Exchange(.none)
  /// The bytes to send next, starting at ``written``.
  // Unchecked because sending and filling do not call back into the session.
  @exclusivity(unchecked) var outgoing: [UInt8] = []
  var written = 0
  /// Whether bytes of the request have been sent.
  var hasSent = false
  /// The bytes of the body that are sent after `outgoing`, without a copy.
  // Unchecked for the same reason.
  @exclusivity(unchecked) var part = Data()
  var hasOutgoing: Bool { written < outgoing.count || !part.isEmpty }
  /// Whether sending continues when the link accepts bytes: some are left, or the session's share of the turn was used
  /// up.
  var wantsToWrite = false
  /// The reason why the body of the request cannot be sent.
  // Unchecked for the same reason.
  @exclusivity(unchecked) var sourceFailure: TransportError?
  /// Whether `Expect` is sent by our own choice.
  private(set) var addsExpect = false
  /// Whether the peer has ended the connection, so that nothing more is read.
  private(set) var hasEnded = false
  /// Whether the last reads filled their memory, or nearly so, as in a large body.
  var isBulk = false
  /// The bytes after a head that ended HTTP; `nil` while HTTP is spoken.
  private(set) var early: [UInt8]?
  /// The machine's running timer. `timerAt` is the time at which it fires.
  var timer: HTTP1Exchange.Timer?
  var timerAt = Int64.max
  /// The number of bytes that the peer had not acknowledged at the last look at the rest of the request.
  var restUnacknowledged = 0

  init(_ connection: HTTPConnection) { self.connection = connection }

  // MARK: Start

  /// Starts an exchange and sends its request, if the link admits it.
  ///
  /// - Returns: false if the link is outdated, and another one may carry the exchange.
  /// - Throws: the error that ends the exchange.
  func start(_ exchange: Exchange) throws(TransportError) -> Bool {
    if exchange.job.isTunnel { throw .unannouncedTunnel }
    exchange.wasActive()
    switch connection.admit(exchange.job) {
    case .outdated: return false
    case .refused(let error): throw error
    case .admitted(let verdict): exchange.verdict = verdict
    }
    try write(exchange)
    self.exchange = exchange
    exchange.run(by: self)
    machine.started()
    exchange.headGoesOut()
    joinBody(of: exchange)
    pump(exchange)
    return true
  }

  /// Writes the head, and creates the machine for the request.
  private func write(_ exchange: Exchange) throws(TransportError) {
    reset()
    let host = exchange.host, job = exchange.job, proxy = host.route.proxy
    let request = try HTTP1Request(
      job.request, &host.common, target: proxy.map { _ in job.request.head.absoluteTarget },
      proxyAuthorization: proxy?.authorization, mayExpect: host.mayExpect, with: &host.engine.writer)
    outgoing.removeAll(keepingCapacity: true)
    host.engine.writer.withBytes { outgoing += $0 }
    addsExpect = request.addsExpect
    machine = HTTP1Exchange(
      request.framing, to: job.asks, expectsContinue: request.expectsContinue, asksToClose: request.asksToClose,
      limits: host.engine.headLimits, resembling: host.heads.latest)
  }

  private func reset() {
    written = 0
    hasSent = false
    if !part.isEmpty { part = Data() }
    wantsToWrite = false
    sourceFailure = nil
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

  /// Handles readiness without an exchange: closes the connection if unrequested bytes, or its end, have arrived.
  private func stirred() {
    if connection.link.hasLostBytes || connection.hasUnsolicitedInput(isHeard: false) {
      connection.host.closeIdle(connection)
    }
  }

  func retire() { connection.host.closeIdle(connection) }

  func close() { connection.close() }

  // MARK: The end

  /// Handles the end of the peer's direction, or a failed read.
  ///
  /// - Parameters:
  ///   - cleanly: whether the peer ended its direction in good order.
  ///   - error: the failure of the read; `nil` if it found the end. Default `nil`.
  func ended(_ exchange: Exchange, cleanly: Bool, _ error: TransportError? = nil) {
    if machine.reading == .waiting, exchange.host.sendAgain(exchange) { return }
    if let error, error.code != .receiveFailed, machine.reading != .complete { return exchange.fail(error) }
    do throws(HTTP1Failure) {
      _ = try machine.connectionEnded(cleanly: cleanly)
      if machine.reading == .complete { endedWhole(exchange) } else if let error { exchange.fail(error) }
    } catch let failure {
      var lost = transportError(failure, of: exchange, isReset: error != nil)
      lost.systemCode = error?.systemCode
      exchange.fail(lost)
    }
  }

  /// Handles the end of the connection after a complete response: it carries no other exchange, and nothing more will
  /// arrive.
  private func endedWhole(_ exchange: Exchange) {
    hasEnded = true
    connection.watch(read: false, write: false)
    if !exchange.awaitsUpload { endResponse(of: exchange) }
  }

  /// Handles the end of the response.
  func endResponse(of exchange: Exchange) {
    // The first condition comes first because asking the machine for its trailers copies it.
    if exchange.receiver.route.framing.isChunked, !machine.trailers.isEmpty {
      exchange.received(trailers: machine.trailers)
    }
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
    exchange.fail(transportError(failure, of: exchange))
  }

  /// Converts a failure of the machine to the error that the caller sees.
  ///
  /// - Parameter isReset: whether the connection was reset rather than closed.
  func transportError(_ failure: HTTP1Failure, of exchange: Exchange, isReset: Bool = false) -> TransportError {
    failure.transportError(isReset: isReset, isReused: connection.isReused, requestSent: exchange.requestSent)
  }

  func leave(_ failure: TransportError?) {
    guard let exchange else { return }
    let host = exchange.host
    let mayServeOthers =
      machine.connection == .reusable && !hasEnded && (failure == nil || exchange.receiver.route.response != nil)
    detach()
    if mayServeOthers { host.release(connection) } else { host.lose(connection) }
  }

  func detach() {
    exchange = nil
    if outgoing.capacity > Self.keptBytes { outgoing = [] }
  }

  // MARK: The end of HTTP

  /// Whether the response ended HTTP on the connection: all further bytes belong to the caller.
  var isTunnel: Bool { early != nil }

  /// Handles the end of HTTP on the connection (101, or 2xx to CONNECT).
  ///
  /// - Parameter bytes: the bytes that arrived after the head.
  func becomeTunnel(_ exchange: Exchange, with bytes: UnsafeRawBufferPointer) {
    let asks = exchange.job.asks
    if asks != .upgrade, asks != .connect { return exchange.host.conclude(exchange, .unexpectedTunnel) }
    early = Array(bytes)
    connection.watch(read: false, write: true)
    handOver(exchange)
  }

  /// Hands the link over to the caller, as soon as no write is in progress on it.
  func handOver(_ exchange: Exchange) {
    guard let early, let stream = connection.handOver(early: early) else { return }
    exchange.host.conclude(exchange, nil, upgraded: stream)
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

  /// The machine's current timer. The machine is asked only in states that can have one, because asking copies it.
  private var runningTimer: HTTP1Exchange.Timer? {
    switch machine.writing {
    case .head, .sent, .stopped: nil
    case .body: machine.reading == .complete ? .grace : nil
    case .awaitContinue, .broken, .flushing: machine.timer
    }
  }

  func updateTimer(of exchange: Exchange) {
    let running = runningTimer
    guard running != timer else { return }
    timer = running
    timerAt = running.map { exchange.now.adding($0.duration(within: exchange.job.request.deadline)) } ?? .max
    exchange.engine.scheduleCheck(of: exchange)
  }

  func look(now: Int64) -> Bool {
    guard let exchange, let timer, now >= timerAt, now < exchange.job.expiresAt else { return false }
    if timer == .grace, machine.reading == .complete, let later = restGoesOn(exchange, now) {
      timerAt = later
      exchange.engine.scheduleCheck(of: exchange)
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
    if machine.connection != .inUse { exchange.finish() } else { pump(exchange) }
    return true
  }

  /// Returns the time of the next look at the rest of a request whose response is complete; `nil` once the server has
  /// accepted nothing of it for one second. On a slow line, the socket may accept nothing for longer although the
  /// server is still reading, so acknowledgements count, too.
  private func restGoesOn(_ exchange: Exchange, _ now: Int64) -> Int64? {
    let grace = HTTP1Exchange.Timer.grace.duration(within: exchange.job.request.deadline)
    if exchange.upload.isPaused, !hasOutgoing { return now.adding(grace) }
    let end = exchange.lastActivity.adding(grace)
    if end > now { return end }
    let unacknowledged = connection.unacknowledgedBytes
    if unacknowledged == restUnacknowledged { return nil }
    restUnacknowledged = unacknowledged
    return now.adding(grace)
  }

  func limitPassed(now: Int64) {}
}
