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
