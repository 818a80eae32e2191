// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A job that HTTP/1.1 carries: an ``HTTP1Exchange`` over a ``HTTPConnection`` of its own.
final class HTTP1Call: Exchange {
  private(set) var connection: HTTPConnection?
  // Unchecked because the loop's thread alone touches it and the machine calls nothing of ours; what is checked is
  // copied, too, wherever a part of it is looked at.
  @exclusivity(unchecked) var machine = HTTP1Exchange(.none)
  /// The bytes to send next, from ``written`` on.
  // Unchecked because sending and filling call nothing that comes back here.
  @exclusivity(unchecked) var outgoing: [UInt8] = []
  var written = 0
  /// Whether bytes have gone out on its connection.
  var hasSent = false
  /// Bytes of the body that go out behind that, as they are.
  // Unchecked for the same reason.
  @exclusivity(unchecked) var part = Data()
  var hasOutgoing: Bool { written < outgoing.count || !part.isEmpty }
  /// Whether it continues when the link takes bytes: some are left, or its share of the turn was used up.
  var wantsToWrite = false
  /// Whether `Expect` was our own idea.
  private var addsExpect = false
  /// Whether nothing more is read from the connection.
  private var hasEnded = false
  /// Bytes behind a head that ended HTTP.
  private var early: [UInt8]?
  /// The time at which the machine's timer fires.
  private var timer: HTTP1Exchange.Timer?
  private var timerAt = Int64.max
  /// Bytes that the peer had not acknowledged when the rest of the request was looked at last.
  private var restUnacknowledged = 0

  // MARK: Beginning

  /// Sends the request on a connection, if that may be.
  func start(on connection: HTTPConnection) -> Start {
    lastActivity = clock.now
    switch connection.admit(job) {
    case .outdated: return .outdated
    case .refused(let error): return .failed(error)
    case .admitted(let verdict): self.verdict = verdict
    }
    do {
      let request = try host.engine.write(job, to: host, into: &outgoing)
      addsExpect = request.addsExpect
      machine = HTTP1Exchange(
        request.framing, to: job.asks,
        expectsContinue: request.expectsContinue, asksToClose: request.asksToClose,
        limits: limits.limits, resembling: host.heads.latest)
    } catch {
      return .failed(error)
    }
    written = 0
    hasSent = false
    state = .running
    self.connection = connection
    connection.begin(self)
    isOnReused = connection.isReused
    machine.started()
    sentAt = clock.now
    job.noteSent()
    job.upload?.start { [weak job] in job?.resumeSending() }
    joinBody()
    pump()
    return .running
  }

  // MARK: Receiving

  /// Bytes came. Those that cannot be taken now stay with the connection.
  func receive(_ bytes: UnsafeRawBufferPointer) {
    lastActivity = clock.now
    if firstByteAt == nil { firstByteAt = lastActivity }
    do {
      try read(bytes)
    } catch {
      return fail(error)
    }
    guard state == .running else { return }
    // The response may have asked for the body, or refused it.
    if machine.writing == .body || machine.writing == .stopped { pump() } else { noteTimer() }
  }

  /// Memory of the reader's that what comes next may be received into: nothing but the body can come then.
  var bodySpace: UnsafeMutableRawBufferPointer? {
    guard state == .running, let length = framing.contentLength, let space = streamSpace,
      length - bodyBytes >= Int64(space.count)
    else { return nil }
    return space
  }

  private func read(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    var position = 0
    while true {
      switch try machine.next(in: bytes, at: &position, now: UInt64(clamping: lastActivity)) {
      case .needsMore:
        if position == bytes.count { return }
      case .interim(let head): received(interim: head)
      case .head(let head):
        if addsExpect, machine.refusesExpect, host.sendWithoutExpect(self) { return }
        guard take(head) else { return stopReading() }
        limitPatience()
      case .body(let count):
        let part = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
        switch deliverBody(part) {
        case .taken:
          machine.take(count)
          bodyBytes += Int64(count)
          position += count
        case .full: return hold(UnsafeRawBufferPointer(rebasing: bytes[position...]))
        case .refused: return stopReading()
        }
      case .end: return end()
      case .tunnel: return becomeTunnel(with: UnsafeRawBufferPointer(rebasing: bytes[position...]))
      }
    }
  }

  /// The final head. False: nothing more of the answer is wanted.
  private func take(_ head: ResponseHead) -> Bool {
    version = head.version.minor == 0 ? "1.0" : "1.1"
    if machine.continueTimedOut { host.mayExpect = false }
    do throws(TransportError) {
      if head.status == 407, host.route.proxy != nil { throw .proxyWantsCredentials }
      let response = try host.heads.response(head, known: machine.takeKnown())
      connection?.keepAlive = host.heads.keepAlive
      note(response, machine.responseFraming)
      if sendingPaused { noteActivity() }
      let goesOn = try take(response, of: head, machine.responseFraming)
      if answersHeadAt != nil { host.engine.noteExpiry(expiresAt) }
      return goesOn
    } catch {
      failure = error
      return false
    }
  }

  private func deliverBody(_ part: UnsafeRawBufferPointer) -> BodyVerdict {
    do {
      return try take(body: part)
    } catch {
      failure = error
      return .refused
    }
  }

  private func hold(_ bytes: UnsafeRawBufferPointer) {
    connection?.held = Array(bytes)
    connection?.watch(read: false, write: wantsToWrite)
  }

  /// The rest of the answer is not wanted: the exchange ends with what there is.
  private func stopReading() {
    if wasCut { finish() } else { conclude(failure ?? .noMemoryForBody) }
  }

  override var redirectPatience: Duration? { machine.mayKeepConnection ? .milliseconds(100) : nil }

  override func noteDrain() {
    host.noteDrain(self)
    host.engine.noteExpiry(expiresAt)
  }

  override func resumeReceiving() {
    guard state == .running, receivingPaused, let connection else { return }
    receivingPaused = false
    noteActivity()
    let held = connection.held
    connection.held = []
    held.withUnsafeBytes { if !$0.isEmpty { receive($0) } }
    guard state == .running, !receivingPaused else { return }
    connection.watch(read: true, write: wantsToWrite)
    // What TLS has read, or the end that was found, makes no descriptor ready.
    connection.read()
  }

  /// The peer has ended its direction.
  func connectionEnded(cleanly: Bool) {
    do {
      _ = try machine.connectionEnded(cleanly: cleanly)
    } catch {
      return fail(error)
    }
    if machine.reading == .complete { endedWhole() }
  }

  /// The connection has ended behind a whole answer: it carries no other, and there is nothing more to hear of it.
  private func endedWhole() {
    hasEnded = true
    connection?.watch(read: false, write: false)
    if !isDelivered { end() }
  }

  /// Reading has failed.
  func receivingFailed(_ error: TransportError) {
    if machine.reading == .waiting, host.sendAgain(self) { return }
    guard error.code == .receiveFailed || machine.reading == .complete else { return conclude(error) }
    do {
      _ = try machine.connectionEnded(cleanly: false)
      if machine.reading == .complete { endedWhole() } else { conclude(error) }
    } catch let failure {
      var lost = transportError(failure, isReset: true)
      lost.systemCode = error.systemCode
      conclude(lost)
    }
  }

  // MARK: The end

  private func end() {
    // The machine would be copied to be asked.
    if framing.isChunked, !machine.trailers.isEmpty { received(trailers: machine.trailers) }
    do throws(TransportError) {
      try decoder?.end()
    } catch {
      return conclude(error)
    }
    if machine.connection == .inUse, machine.writing == .body || machine.writing == .flushing { return }
    finish()
  }

  override func finish() {
    if let error = failureOfSourceAtEnd { return conclude(error) }
    isDelivered = !wasCut && awaitsSourceEnd
    if isDelivered { return }
    host.conclude(self, nil)
  }

  override func resumeSending() {
    if state == .running { resumeSendingNow() }
  }

  override func leave(_ failure: TransportError?) {
    guard let connection = leaveConnection() else { return }
    if machine.connection == .reusable, !hasEnded, failure == nil || response != nil {
      host.release(connection)
    } else {
      host.abandon(connection)
    }
  }

  // MARK: The end of HTTP

  /// Whether the response ended HTTP on the connection: what comes is the caller's.
  var isTunnel: Bool { early != nil }

  /// HTTP has ended on the connection (101, or 2xx to CONNECT).
  ///
  /// - Parameter bytes: what came behind the head.
  private func becomeTunnel(with bytes: UnsafeRawBufferPointer) {
    if job.asks != .upgrade, job.asks != .connect { return host.conclude(self, .unexpectedTunnel) }
    early = Array(bytes)
    connection?.watch(read: false, write: true)
    handOver()
  }

  /// Gives the link to the caller, as soon as no write is under way on it.
  func handOver() {
    guard let connection, let early, let stream = connection.handOver(early: early) else { return }
    _ = leaveConnection()
    host.handedOver(self, connection, stream)
  }

  private func fail(_ failure: HTTP1Failure) {
    if failure.kind == .lostBeforeFirstByte, host.sendAgain(self) { return }
    conclude(self.failure ?? transportError(failure))
  }

  private func conclude(_ error: TransportError) { host.conclude(self, weigh(error)) }

  /// Gives the connection back, whatever becomes of it, and of the exchange.
  func leaveConnection() -> HTTPConnection? {
    defer { connection = nil }
    connection?.exchange = nil
    return connection
  }

  override func rewind() {
    super.rewind()
    hasEnded = false
    early = nil
    outgoing = []
    written = 0
    part = Data()
    wantsToWrite = false
    timerAt = .max
    timer = nil
  }

  // MARK: Deadlines

  override var expiresAt: Int64 {
    state == .waiting || drainsUntil != nil ? super.expiresAt : min(super.expiresAt, timerAt)
  }

  /// The machine's timer. Asked where there may be one alone: it would be copied to be asked.
  private var runningTimer: HTTP1Exchange.Timer? {
    switch machine.writing {
    case .head, .sent, .stopped: nil
    case .body: machine.reading == .complete ? .grace : nil
    case .awaitContinue, .broken, .flushing: machine.timer
    }
  }

  func noteTimer() {
    let running = runningTimer
    guard running != timer else { return }
    timer = running
    timerAt = running.map { clock.now.adding($0.duration(within: job.request.deadline)) } ?? .max
    host.engine.noteExpiry(expiresAt)
  }

  override func expire(now: Int64) {
    if answersHeadAt != nil { return answerHead() }
    if let timer, now >= timerAt, now < job.expiresAt {
      if timer == .grace, machine.reading == .complete, let later = restGoesOn(now) {
        timerAt = later
        return host.engine.noteExpiry(expiresAt)
      }
      self.timer = nil
      timerAt = .max
      do {
        try machine.timerFired()
      } catch {
        return fail(error)
      }
      if timer == .drain || machine.connection != .inUse { return finish() }
      return pump()
    }
    super.expire(now: now)
  }

  /// Returns when to look again at the rest of a request whose response is complete; nil once the server has taken
  /// nothing of it for a second. On a slow line the socket may take nothing for longer while the server does.
  private func restGoesOn(_ now: Int64) -> Int64? {
    let grace = HTTP1Exchange.Timer.grace.duration(within: job.request.deadline)
    if sendingPaused, !hasOutgoing { return now.adding(grace) }
    let end = lastActivity.adding(grace)
    if end > now { return end }
    let unacknowledged = connection?.unacknowledgedBytes ?? 0
    if unacknowledged == restUnacknowledged { return nil }
    restUnacknowledged = unacknowledged
    return now.adding(grace)
  }

  override var wire: HTTPConnection? { connection }
  override var handedOver: Int { uploadOffset - part.count }
}
