// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroWire

/// An ``HTTP2Session`` over a connection. It moves the session's bytes, and passes the session's events to the
/// ``HTTP2Call`` that they concern.
///
/// Output is gathered until the turn of the loop ends, and then sent at once by ``LoopContext/settle()``. Owner:
/// ``HostPool``, and the connection. Thread: the loop's.
final class HTTP2Multiplexer: ConnectionSession {
  /// The maximum number of bytes that are read, or written, on one connection before others get their turn.
  private static let turnBytes = 512 * 1024
  /// The maximum number of reads of an idle connection before a request.
  private static let mostIdleReads = 64

  let connection: HTTPConnection
  let session: HTTP2Session
  private let host: HostPool
  /// The open calls, by the slots of their streams.
  // Unchecked, as ``unsent``, because only the loop uses them, and changing them does not call back into the
  // multiplexer.
  @exclusivity(unchecked) private var calls: [HTTP2Call?] = []
  private var openCount = 0
  /// The calls whose heads were not sent yet.
  @exclusivity(unchecked) private var unsent: [HTTP2Call] = []
  /// The exchanges that wait for the server's SETTINGS.
  private var awaitingSettings: [HTTP2SettingsWait] = []
  /// The bytes that the socket did not accept.
  private var outgoing: [UInt8] = []
  /// Whether `outgoing` may contain request heads.
  private var owesHeads = false
  /// Whether a flush is scheduled for this turn, or in progress.
  private var isSending = false
  /// Whether the session may have output that was not gathered yet.
  private var hasNews = false
  /// The number of bytes that may still be written in the turn that began at ``budgetedAt``.
  private var budget = 0
  private var budgetedAt = Int64.min
  var heads = HTTP2HeadMemory()
  /// The time at which bytes were last received.
  private(set) var heardAt: Int64
  /// The delivery state of the sent bytes at the last look, while a PING is unanswered.
  private var delivery: LinkDelivery?
  /// Whether the server may be unreachable. It gets no more requests until bytes arrive from it.
  private var isSuspect = false
  /// The reason why the connection ended, if more is known than HTTP/2 reports.
  private(set) var failure: TransportError?

  init(_ connection: HTTPConnection, of host: HostPool) throws(HTTP2Violation) {
    self.connection = connection
    self.host = host
    let settings = host.engine.settings
    var configuration = HTTP2Configuration()
    configuration.streams = min(settings.http2StreamsPerConnection, settings.http2StreamsPerHost)
    configuration.streamsBeforeSettings = host.machine.allowedStreams ?? configuration.streams
    configuration.liveness = settings.http2Liveness
    configuration.limits = host.engine.headLimits
    heardAt = host.engine.now
    session = try HTTP2Session(configuration, now: UInt64(clamping: host.engine.now))
  }

  private var engine: HTTPEngine { host.engine }
  private var now: UInt64 { UInt64(clamping: engine.now) }
  var isIdle: Bool { openCount == 0 }
  /// Whether the connection has just opened, and the requests that wait for it are being started.
  var isNew = true
  /// The reason why the connection accepts no more requests; `nil` if it may accept some.
  var refusal: TransportError? {
    guard session.isClosedToRequests else { return nil }
    if case .violation(let violation)? = session.loss { return TransportError(violation) }
    return TransportError(HTTP2Unprocessed.unsent)
  }
  /// Whether at most one exchange uses the connection.
  var isAlone: Bool { openCount <= 1 }
  /// The capacity for further requests.
  var room: HostMachine.Room {
    HostMachine.Room(
      free: isSuspect || connection.isClosed ? 0 : session.freeStreams, allowed: session.allowedStreams,
      isSuspect: isSuspect)
  }

  /// Whether the server's SETTINGS do not announce extended CONNECT.
  var refusesTunnels: Bool { session.hasSettings && !session.allowsTunnels }

  private func tellRoom() { host.tell(.room(connection.number, room)) }

  /// Starts the session, and processes the bytes that arrived with the handshake.
  func startSession() {
    let held = connection.held
    connection.held = []
    held.withUnsafeBytes { if !$0.isEmpty { receive($0) } }
    scheduleFlush()
  }

  // MARK: Streams

  /// Opens a stream for an exchange. Its head is sent at the end of the turn, if the link admits it.
  ///
  /// - Returns: false if the session takes no more requests, and another connection may carry the exchange.
  /// - Throws: the error that ends the exchange.
  func start(_ exchange: Exchange) throws(TransportError) -> Bool {
    exchange.wasActive()
    let request = exchange.job.request, isTunnel = exchange.job.isTunnel
    if isTunnel, try awaitsSettings(exchange) { return true }
    let fields = try HTTP2Fields(request, isTunnel ? .none : engine.addedFields)
    let body = request.hasBody ? HTTP2RequestBody.stream(length: request.body.length) : .none
    guard let stream = session.open(fields, body: body, now: now) else { return false }
    let call = HTTP2Call(exchange, on: self, stream, headBytes: Int64(fields.byteCount))
    while calls.count <= stream.slot { calls.append(nil) }
    calls[stream.slot] = call
    exchange.run(by: call)
    openCount += 1
    unsent.append(call)
    scheduleFlush()
    return true
  }

  /// Returns whether an extended CONNECT has to wait for the server's SETTINGS. It must not be sent before they announce
  /// that the server accepts it (RFC 8441 §3).
  ///
  /// - Throws: an error if they do not announce that.
  private func awaitsSettings(_ exchange: Exchange) throws(TransportError) -> Bool {
    guard session.hasSettings else {
      let wait = HTTP2SettingsWait(exchange, on: self)
      awaitingSettings.append(wait)
      openCount += 1
      exchange.run(by: wait)
      return true
    }
    guard session.allowsTunnels else { throw .unannouncedTunnel }
    return false
  }

  /// Ends the wait of an exchange for SETTINGS.
  func endWait(_ wait: HTTP2SettingsWait) {
    guard let index = awaitingSettings.firstIndex(where: { $0 === wait }) else { return }
    awaitingSettings.remove(at: index)
    openCount -= 1
    host.tell(.streamClosed(connection.number, room))
  }

  /// Ends all waits for SETTINGS, and passes their exchanges on, of which nothing was sent.
  private func endWaits(_ proceed: (Exchange) -> Void) {
    while let wait = awaitingSettings.first {
      endWait(wait)
      connection.forgetExchange()
      wait.exchange.rewind()
      proceed(wait.exchange)
    }
  }

  /// Resets a stream, unless it has ended.
  func close(_ stream: HTTP2Stream, _ code: LastroHTTP.HTTP2ErrorCode) {
    session.reset(stream, code)
    forget(stream)
    scheduleFlush()
  }

  /// Detaches a stream from its call, and reports its end to the host.
  private func forget(_ stream: HTTP2Stream) {
    guard stream.slot < calls.count, let call = calls[stream.slot].take() else { return }
    openCount -= 1
    if !unsent.isEmpty { unsent.removeAll { $0 === call } }
    host.tell(.streamClosed(connection.number, room))
  }

  /// Sends a PING to a server that was late.
  ///
  /// - Parameter isSilent: whether the server sent nothing at all. It gets no more requests then until bytes arrive
  ///   from it.
  func doubt(isSilent: Bool) {
    if isSilent {
      isSuspect = true
      tellRoom()
    }
    session.probe(now: now)
    scheduleFlush()
  }

  // MARK: Receiving

  func ready(readable: Bool, writable: Bool) {
    if readable { read() }
    if writable { connection.link.hasLostBytes ? breakOff() : scheduleFlush() }
  }

  func retire() { host.tell(.retired(connection.number)) }

  /// Returns whether the connection can carry a request, as far as is known. Reads an idle connection first, because
  /// its server may have closed it, and retires one that has ended or is too old.
  func checkFitness() -> Bool {
    let isUsable = connection.isInTime && !hasEndedWhileIdle()
    if !isUsable { retire() }
    return isUsable && room.free > 0 && connection.isInTime
  }

  /// Reads all bytes that have arrived if no stream is open: the server may have closed the connection, or be about to.
  ///
  /// - Returns: whether the end is known that no read has returned yet.
  private func hasEndedWhileIdle() -> Bool {
    guard isIdle else { return false }
    // After a read in this turn, more bytes may be available: not all of them are read at once.
    let isHeard = connection.isHeard && heardAt < engine.now && !connection.link.hidesInput
    // A GOAWAY or the end may lie behind other frames, and a read returns a single TLS record. The limit is for a server
    // that sends faster than it is read.
    var reads = 0
    while !isHeard, reads < Self.mostIdleReads, !connection.isClosed, connection.link.hasInput {
      read()
      reads += 1
    }
    return !connection.isClosed && connection.link.hasEndedUnseen(isHeard: isHeard)
  }

  func read() {
    connection.beganReading()
    read(into: engine.context.scratch, isLast: false)
  }

  /// - Parameter isLast: whether the connection is not read again afterwards.
  private func read(into space: UnsafeMutableRawBufferPointer, isLast: Bool) {
    var budget = Self.turnBytes
    var isBulk = false
    while budget > 0, !connection.isClosed {
      switch connection.link.receive(into: space) {
      case .moved(let count):
        isBulk = isBulk || count + HTTPConnection.recordBytes > space.count
        receive(UnsafeRawBufferPointer(rebasing: space[..<count]))
        // Each read costs a system call: many one-byte records must not keep the turn busy.
        budget -= max(count, HTTPConnection.recordBytes)
        // Bytes that are left make the descriptor ready again, so a short read can be the last of the turn. But if
        // several responses are awaited, more may be available, each in a record of its own: with one read per turn,
        // they would be processed, and the next requests sent, one at a time. Nor does a short record end a large body:
        // a server that writes 64 KiB at a time sends one after four full ones.
        if !isLast, count < HTTPConnection.partBytes, openCount < 2, !isBulk, !connection.link.hidesInput { return }
      case .wait: return
      case .end: return connectionEnded(nil)
      case .failed: return connectionEnded(connection.link.failure)
      }
    }
    if !isLast { connection.readOn() }
  }

  private func receive(_ bytes: UnsafeRawBufferPointer) {
    heardAt = engine.now
    if isSuspect {
      isSuspect = false
      tellRoom()
    }
    session.receive(bytes, now: now)
    perform(bytes)
    if let stream = session.streamWithinHead { call(stream)?.exchange.receivedBytes() }
    scheduleFlush()
  }

  /// Handles the end or the failure of the connection.
  private func connectionEnded(_ error: TransportError?) {
    guard !connection.isClosed else { return }
    failure = error
    session.connectionEnded()
    perform(nil)
    drop()
  }

  private func drop() {
    let error = failure ?? refusal ?? .goneBeforeSending
    endWaits { mayDifferElsewhere ? host.restart($0, orFail: error) : host.conclude($0, error) }
    connection.close()
    host.ended(self)
  }

  /// Whether the next connection may fare better: no TLS alert and no violation of HTTP/2 ended this one.
  private var mayDifferElsewhere: Bool {
    guard case .closed? = session.loss else { return false }
    return failure.map { $0.code == .receiveFailed || $0.code == .sendFailed } ?? true
  }

  // MARK: Events

  /// - Parameter bytes: the bytes received last; body events refer to ranges of them.
  private func perform(_ bytes: UnsafeRawBufferPointer?) {
    while let event = session.next() {
      switch event {
      case .head(let stream, let head): call(stream)?.received(head)
      case .body(let stream, let range):
        guard let bytes else { break }
        call(stream)?.received(UnsafeRawBufferPointer(rebasing: bytes[range]))
      case .answered(let stream): call(stream)?.answered()
      case .wantsBody(let stream): call(stream)?.resumeSending()
      case .stopsBody(let stream): call(stream)?.stopBody()
      case .closed(let stream, let ending):
        guard let call = call(stream) else { break }
        forget(stream)
        call.closed(ending)
      case .interim(let stream, let head):
        call(stream)?.received(interim: head)
      case .trailers(let stream, let fields): call(stream)?.exchange.received(trailers: fields)
      case .capacity:
        tellRoom()
        endWaits(host.waitAgain)
      case .retired: retire()
      }
    }
  }

  /// Returns the call of a stream; `nil` if the call has left it, and ignores the events that are pending.
  private func call(_ stream: HTTP2Stream) -> HTTP2Call? {
    guard stream.slot < calls.count, let call = calls[stream.slot], call.stream == stream else { return nil }
    return call
  }

  /// Returns the exchange of an open stream, for a recorder.
  func exchange(on number: Int32) -> Exchange? { session.openStream(number).flatMap(call)?.exchange }

  // MARK: Sending

  /// Schedules a flush at the end of the turn, because there may be output.
  func scheduleFlush() {
    hasNews = true
    if isSending || connection.isClosed { return }
    isSending = true
    engine.context.scheduleFlush(of: self)
  }

  /// Sends the output, in as few system calls as possible.
  func flush() {
    // The flag stays set until the end, so that output that exchanges provide in the meantime is sent in the same loop,
    // within the same budget.
    isSending = true
    defer { isSending = false }
    guard !connection.isClosed else { return }
    defer {
      scheduleTick()
      // A stream that was reset becomes free once its reset has been sent.
      if !connection.isClosed { tellRoom() }
    }
    if !outgoing.isEmpty, !flushRest() { return }
    // The budget is for a turn and not for a call: requests that are served at the end of a turn flush once more in the
    // same turn.
    if budgetedAt != engine.now { refill() }
    let space = engine.context.sendingSpace
    var goesOn = true
    while goesOn, budget > 0, !connection.isClosed, connection.link.acceptsWrites {
      admitUnsent()
      let count = gather(into: space)
      // Each write costs a system call: many small ones must not keep the turn busy.
      budget -= max(count, 1024)
      goesOn = count > 0 && !connection.isClosed && send(UnsafeRawBufferPointer(rebasing: space[..<count]))
    }
    if connection.isClosed { return }
    if session.wantsClose, outgoing.isEmpty { return drop() }
    // If output is left for the next turn, the writable descriptor starts that turn.
    connection.watch(read: true, write: !outgoing.isEmpty || budget <= 0 || !connection.link.acceptsWrites)
  }

  private func refill() {
    budget = Self.turnBytes
    budgetedAt = engine.now
  }

  private func scheduleTick() {
    guard !connection.isClosed, let deadline = session.deadline else { return delivery = nil }
    if delivery == nil { delivery = connection.delivery(now: engine.now) }
    engine.scheduleTick(at: Int64(clamping: deadline))
  }

  /// Asks the kernel how far the written bytes, which include an unanswered PING, have been delivered.
  private func lookAtOutput() -> HTTP2Liveness.Output {
    guard let earlier = delivery, let found = connection.delivery(now: engine.now) else { return .stuck }
    delivery = found
    if found.queued == 0, outgoing.isEmpty { return .delivered }
    return found.hasMoved(since: earlier) ? .moving : .stuck
  }

  /// Gathers frames until there are no more, or until the space is full. As output leaves, exchanges are asked for more
  /// of their bodies.
  private func gather(into space: UnsafeMutableRawBufferPointer) -> Int {
    hasNews = false
    return session.fill(space, inRecords: connection.facts.hasTLS, now: now) {
      perform(nil)
      defer { hasNews = false }
      return hasNews
    }
  }

  /// Sends gathered bytes, and keeps what the link does not accept; returns false if it accepted only a part, or if the
  /// write failed.
  private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    owesHeads = !unsent.isEmpty
    let sent = write(bytes)
    guard sent < bytes.count else { return true }
    outgoing = Array(bytes[sent...])
    return false
  }

  /// Sends the rest of the bytes that were gathered before; returns false if some are left.
  private func flushRest() -> Bool {
    // The rest may contain heads, none of which may be sent once the trust rules have changed.
    if owesHeads, !connection.link.isCurrent {
      connectionEnded(nil)
      return false
    }
    let sent = outgoing.withUnsafeBytes(write)
    if connection.isClosed || sent == outgoing.count {
      outgoing = []
    } else {
      outgoing.removeFirst(sent)
      connection.watch(read: true, write: true)
    }
    return outgoing.isEmpty && !connection.isClosed
  }

  /// Writes bytes until the link accepts no more, and returns the number that it accepted. A failed write ends the
  /// connection.
  private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    var sent = 0
    while sent < bytes.count {
      switch connection.send(UnsafeRawBufferPointer(rebasing: bytes[sent...])) {
      case .moved(let count):
        sent += count
        recordSentHeads()
      case .failed:
        breakOff()
        return sent
      case .wait, .end: return sent
      }
    }
    return sent
  }

  /// Ends the connection after a failed write. Bytes that the server sent before are read first, because they may
  /// contain responses.
  private func breakOff() {
    let error = connection.link.failure
    // The memory is allocated here because the loop's memory may be in use for the bytes of another connection.
    let space = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * HTTPConnection.recordBytes, alignment: 16)
    defer { space.deallocate() }
    read(into: space, isLast: true)
    connectionEnded(error)
  }

  /// Records which heads have been sent.
  private func recordSentHeads() {
    guard !unsent.isEmpty else { return }
    unsent.removeAll { $0.recordSentHead() }
  }

  /// Checks whether the unsent heads may be sent, and otherwise restarts or fails their exchanges. Other frames need no
  /// check.
  private func admitUnsent() {
    guard !unsent.isEmpty else { return }
    switch connection.admit() {
    case .admitted(let verdict):
      for call in unsent { call.exchange.verdict = verdict }
    case .outdated:
      for call in unsent {
        call.leave(nil)
        call.exchange.rewind()
        host.restart(call.exchange, orFail: .unsteadyTrust)
      }
      retire()
    case .refused(let error):
      for call in unsent { host.conclude(call.exchange, error) }
    }
  }

  // MARK: Time, and the end

  func tick(now: Int64) {
    guard !connection.isClosed, let deadline = session.deadline else { return }
    if Int64(clamping: deadline) > now { return scheduleTick() }
    session.tick(now: UInt64(clamping: now), output: lookAtOutput())
    perform(nil)
    scheduleFlush()
  }

  /// Closes the connection with GOAWAY. It must have no open streams.
  func close() {
    guard !connection.isClosed else { return }
    session.close()
    perform(nil)
    refill()
    flush()
    if !connection.isClosed { drop() }
  }
}
